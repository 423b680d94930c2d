package embeddedlog

import (
	"fmt"
	"log/slog"
	"os"
)

// pebbleLogger passes on what Pebble reports. Its notices go to the debug level:
// they are about files, not about events.
type pebbleLogger struct {
	logger *slog.Logger
	dir    string
}

// Infof implements pebble.Logger.
func (p pebbleLogger) Infof(format string, args ...any) {
	p.logger.Debug(fmt.Sprintf(format, args...))
}

// Errorf implements pebble.Logger.
func (p pebbleLogger) Errorf(format string, args ...any) {
	p.logger.Error(fmt.Sprintf(format, args...))
}

// Fatalf implements pebble.Logger, which demands that it does not return. Pebble
// calls it when it no longer knows what the disk holds, so no deferred function
// may save the process: what was acknowledged is found at the next start.
func (p pebbleLogger) Fatalf(format string, args ...any) {
	p.logger.Error("the event log cannot continue: if its disk is full or fails, free some space or replace it; if its files are damaged, restore them from a backup, see \"Damage\" in the manual of operations",
		"directory", p.dir, "error", "pebble: "+fmt.Sprintf(format, args...))
	exitProcess(1)
}

// exitProcess ends the process; tests replace it. A panic would end it as well, in a goroutine
// of Pebble, with a stack trace that hides the message.
var exitProcess = os.Exit
