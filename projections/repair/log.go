package repair

import (
	"github.com/quarrysearch/quarry/projections"
)

// Log is the part of the event log that repairs read and append to.
type Log interface {
	projections.Tailer
	projections.Appender
}

// anyPartition lets the log choose the partition by key.
const anyPartition int32 = -1
