package pebblelog

import (
	"context"
	"fmt"
	"log/slog"
	"os"
)

// Logger passes on what one Pebble instance reports.
type Logger struct {
	Logger *slog.Logger
	// Dir is the directory of the instance, Fatal the message if it cannot go on: what
	// has stopped, and what helps.
	Dir, Fatal string
}

// Infof implements pebble.Logger.
func (l Logger) Infof(format string, args ...any) {
	if l.Logger.Enabled(context.Background(), slog.LevelDebug) {
		l.Logger.Debug("pebble: "+fmt.Sprintf(format, args...), "directory", l.Dir)
	}
}

// Errorf implements pebble.Logger.
func (l Logger) Errorf(format string, args ...any) {
	l.Logger.Error("pebble: "+fmt.Sprintf(format, args...), "directory", l.Dir)
}

// Fatalf implements pebble.Logger, which demands that it does not return. Pebble
// calls it when it no longer knows what the disk holds, so no deferred function
// may save the process: what was acknowledged is found at the next start.
func (l Logger) Fatalf(format string, args ...any) {
	l.Logger.Error(l.Fatal, "directory", l.Dir, "error", "pebble: "+fmt.Sprintf(format, args...))
	exitProcess(1)
}

// exitProcess ends the process; tests replace it. A panic would end it as well, in a goroutine
// of Pebble, with a stack trace that hides the message.
var exitProcess = os.Exit
