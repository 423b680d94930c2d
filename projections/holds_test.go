package projections_test

import (
	"testing"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestRunnerHoldsSomePartitions checks that a projection applies only the partitions that
// the store holds, that others apply all, and that every checkpoint advances.
func TestRunnerHoldsSomePartitions(t *testing.T) {
	log := projectiontest.NewLog(3)
	for p := range int32(3) {
		log.Add(rawRecords(p, 0, "a", "b")...)
	}
	text, catalog := &scripted{}, &scripted{}
	s := openMemory(t)
	r := start(t, s, log, projections.Options{
		Projections: []projections.Projection{catalog, text},
		Holds: func(p projections.Projection, partition int32) bool {
			return p != projections.Projection(text) || partition == 1
		},
	})
	for p := range int32(3) {
		must(t, r.runner.WaitFor(t.Context(), event.Position{Topic: event.TopicEvents, Partition: p, Offset: 1}))
		next, err := s.TopicCheckpoint(event.TopicEvents, p)
		if must(t, err); next != 2 {
			t.Errorf("the checkpoint of partition %d is %d, want 2", p, next)
		}
	}
	must(t, r.runner.Do(t.Context(), 2, func(*store.Batch) error { return nil }))
	text.mu.Lock()
	defer text.mu.Unlock()
	catalog.mu.Lock()
	defer catalog.mu.Unlock()
	if len(text.applied) != 2 || len(catalog.applied) != 6 {
		t.Errorf("applied %v of the text and %v of the catalog, want 2 and 6 records", text.applied, catalog.applied)
	}
	if text.pending != 0 || text.seen != 2 {
		t.Errorf("%d records pending and %d seen, want 0 and 2", text.pending, text.seen)
	}
}
