package embeddedlog

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
)

var _ eventlog.Checkpointer = (*Log)(nil)

// Checkpoint implements eventlog.Checkpointer. Tables become hard links if the file
// system supports them, so dir should be below the directory of the log.
func (l *Log) Checkpoint(dir string) error {
	release, err := l.acquireDB()
	if err != nil {
		return fmt.Errorf("checkpoint of the event log: %w", err)
	}
	defer release()
	if err := l.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("checkpoint of the event log in %s: %w", dir, err)
	}
	return nil
}

// FormatVersion is the version of the directory format that this release writes and
// reads.
const FormatVersion = formatVersion
