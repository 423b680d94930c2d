package boot

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// These are the formats of the log.
const (
	FormatText = "text"
	FormatJSON = "json"
)

// maxLogTextBytes bounds a string in a log line; stack traces are the longest.
const maxLogTextBytes = 16 << 10

// ParseLevel parses a log level.
func ParseLevel(level string) (l slog.Level, err error) {
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return l, fmt.Errorf("log level %.40q: want debug, info, warn or error", level)
	}
	return l, nil
}

// NewLogger returns a logger that writes lines of at least the given level to w, in the
// given format. The level may change while the logger is used. The logger masks anything
// that looks like a credential, as a second safeguard after the code that turns text of
// git and of hosts into errors. It writes a duration in milliseconds: "duration",
// 2*time.Second becomes duration_ms=2000.
func NewLogger(w io.Writer, level slog.Leveler, format string) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: writeAttr}
	var newHandler func(io.Writer) slog.Handler
	switch format {
	case FormatText:
		newHandler = func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, options) }
	case FormatJSON:
		newHandler = func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, options) }
	default:
		return nil, fmt.Errorf("log format %.40q: want %s or %s", format, FormatText, FormatJSON)
	}
	lines, ok := w.(*LogWriter)
	if !ok {
		return slog.New(newHandler(w)), nil
	}
	lines.report = func(n int) []byte {
		var line bytes.Buffer
		slog.New(newHandler(&line)).Warn(linesDropped, "lines", n)
		return line.Bytes()
	}
	return slog.New(errorFlusher{newHandler(lines), lines}), nil
}

// writeAttr writes a duration as a number of milliseconds, with the unit in its key, and
// masks strings. slog also calls it for the message.
func writeAttr(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindDuration:
		ms := float64(a.Value.Duration().Round(time.Microsecond)) / float64(time.Millisecond)
		return slog.Float64(a.Key+"_ms", ms)
	case slog.KindString:
		if a.Key == tracing.IDKey {
			break // looks like a key
		}
		a.Value = slog.StringValue(maskText(a.Value.String()))
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case error:
			a.Value = slog.StringValue(maskText(v.Error()))
		case []string:
			masked := make([]string, len(v))
			for i := range v {
				masked[i] = maskText(v[i])
			}
			a.Value = slog.AnyValue(masked)
		}
	}
	return a
}

func maskText(text string) string {
	return failure.Cut(failure.Mask(text), maxLogTextBytes)
}
