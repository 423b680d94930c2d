package simulation

import (
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/eventlogtest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// The log of the simulation keeps the contract that the others keep.
func TestLog(t *testing.T) {
	eventlogtest.Run(t, eventlogtest.Driver{
		New: func(t *testing.T, partitions int32, _ ...event.Topic) func() (eventlog.Log, error) {
			l := NewLog(partitions)
			return func() (eventlog.Log, error) { return l.Open(nil, nil), nil }
		},
		Wake: 5 * time.Millisecond, Patience: 10 * time.Second,
	})
}
