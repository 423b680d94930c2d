package server

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/event"
)

func TestRepairAsksOnceForEachBrokenEvent(t *testing.T) {
	log, err := embeddedlog.Open(t.TempDir(), embeddedlog.Options{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	var broken []*places.BrokenError
	fails := false
	r := &repairer{log: log, logger: slog.New(slog.DiscardHandler), asked: map[event.Position]bool{}, broken: func(int) ([]*places.BrokenError, error) {
		if fails {
			return nil, errors.New("store is closed")
		}
		return broken, nil
	}}
	asked := func() event.Offset {
		t.Helper()
		r.look(t.Context())
		high, err := log.HighWater(t.Context(), event.TopicEvents)
		if err != nil {
			t.Fatal(err)
		}
		return high[0]
	}
	at := func(offset event.Offset) *places.BrokenError {
		return &places.BrokenError{Repository: 7, Ref: "refs/heads/main", Position: event.Position{Topic: event.TopicEvents, Offset: offset}, IndexedAt: time.Unix(9, 0)}
	}
	for i, step := range []struct {
		broken []*places.BrokenError
		fails  bool
		want   event.Offset
	}{
		{nil, false, 0}, {[]*places.BrokenError{at(3)}, false, 1}, {[]*places.BrokenError{at(3)}, false, 1},
		{[]*places.BrokenError{at(3)}, true, 1}, {nil, false, 1}, {[]*places.BrokenError{at(5), at(6)}, false, 3},
	} {
		broken, fails = step.broken, step.fails
		if got := asked(); got != step.want {
			t.Fatalf("step %d: %d requests in the log, want %d", i, got, step.want)
		}
	}
}
