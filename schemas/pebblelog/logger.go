package pebblelog

import (
	"context"
	"fmt"
	"log/slog"
	"os"
)

// Logger logs the messages of one Pebble instance.
type Logger struct {
	Logger *slog.Logger
	// Dir is the directory of the instance. Fatal is the message for fatal errors: it
	// explains what has stopped and what to do.
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

// Fatalf implements pebble.Logger, which requires that it does not return. Pebble calls
// it when it no longer knows what is on the disk, so no deferred function may keep the
// process alive; acknowledged writes are recovered at the next start.
func (l Logger) Fatalf(format string, args ...any) {
	l.Logger.Error(l.Fatal, "directory", l.Dir, "error", "pebble: "+fmt.Sprintf(format, args...))
	exitProcess(1)
}

// exitProcess exits the process; tests replace it. A panic in a goroutine of Pebble would
// also end the process, but its stack trace would hide the message.
var exitProcess = os.Exit
