package repair

import (
	"github.com/quarrysearch/quarry/projections"
)

// Log is the part of the event log that repairs read and append to.
type Log interface {
	projections.Tailer
	projections.Appender
}
