package simulation

import (
	"testing"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/eventlogtest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestLog checks that the simulated log satisfies the contract of all logs.
func TestLog(t *testing.T) {
	eventlogtest.Run(t, eventlogtest.Driver{
		New: func(t *testing.T, partitions int32, _ ...event.Topic) func() (eventlog.Log, error) {
			l := NewLog(partitions)
			return func() (eventlog.Log, error) { return l.Open(nil, nil), nil }
		},
		Bubble: true,
	})
}
