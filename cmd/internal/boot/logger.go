package boot

import (
	"fmt"
	"io"
	"log/slog"
)

// The spellings of a log's format.
const (
	FormatText = "text"
	FormatJSON = "json"
)

// NewLogger returns a logger that writes lines of the given level ("debug",
// "info", "warn", "error") and above to w, in the given format.
func NewLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level %.40q: want debug, info, warn or error", level)
	}
	options := &slog.HandlerOptions{Level: l}
	switch format {
	case FormatText:
		return slog.New(slog.NewTextHandler(w, options)), nil
	case FormatJSON:
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, fmt.Errorf("log format %.40q: want %s or %s", format, FormatText, FormatJSON)
}
