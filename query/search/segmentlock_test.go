package search

import (
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/search/internal/admission"
)

// TestLockedSegmentGivesUpTheProcessor has a worker wait for a segment that another worker has
// locked, which waits for the only processor in the middle of its lookup. Both go on.
func TestLockedSegmentGivesUpTheProcessor(t *testing.T) {
	ticket, err := admission.New(admission.Options{Processors: 1, Slice: time.Nanosecond}).Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ticket.Leave()
	done := make(chan struct{})
	first, second := ticket.Worker(done), ticket.Worker(done)
	for !first.Heavy() { // it has the only processor then
		first.Step()
	}
	o := &segmentState{}
	o.mu.Lock()
	lookedUp := make(chan struct{})
	go func() {
		defer close(lookedUp)
		for !second.Heavy() {
			second.Step() // waits until the first worker gives up the processor
		}
		o.mu.Unlock()
		second.End()
	}()
	v := &segmentSearcher{turn: first}
	if v.hasCandidates(o) {
		t.Error("a segment that nothing was looked up in has candidates")
	}
	first.End()
	<-lookedUp
}
