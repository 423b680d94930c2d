package embeddedlog

import (
	"fmt"
	"log/slog"
)

// pebbleLogger passes on what Pebble reports. Its notices go to the debug level:
// they are about files, not about events.
type pebbleLogger struct{ logger *slog.Logger }

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
	message := fmt.Sprintf(format, args...)
	p.logger.Error(message)
	panic("event log cannot go on: " + message)
}
