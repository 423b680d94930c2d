package server

import (
	"context"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/views"
	"github.com/quarrysearch/quarry/pipeline/compactor"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// openCompactor opens the compactor, unless merging is off. It belongs to the role query:
// only the projections know which text is dead, and a compactor without them would hold
// partitions and drop nothing. One with a share would be assigned partitions that it does not
// hold.
func (s *Server) openCompactor(context.Context) error {
	c := s.o.Config.Pipeline
	if s.versions == nil || c.MergeInterval == 0 || !s.share.IsAll() {
		return nil
	}
	s.compactor = compactor.New(compactor.Options{
		Log: s.log, Objects: s.segments, Liveness: views.NewLiveness(s.versions, s.readersOf), TempDir: s.o.Config.MergesDir(),
		Policy: compactor.Policy{MaxTextBytes: int64(c.SegmentBytes)}, Slots: s.buildSlots(),
		Interval: c.MergeInterval.Std(), PurgeAfter: c.PurgeAfter.Std(), Now: boot.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
	return nil
}

// readersOf returns who may read a repository, in a form that is equal for repositories
// that the same callers may read. No two private repositories have the same form.
func (s *Server) readersOf(r *code.Repository) string {
	if v := s.auth.Visibility(r); v != account.Private {
		return string(v)
	}
	return r.ID.String()
}

// buildSlots returns the slots that bound how many large segments imports and merges
// build at the same time.
func (s *Server) buildSlots() *segment.Slots {
	if s.slots == nil {
		s.slots = segment.NewSlots(s.o.Config.Pipeline.Builders, boot.CollectWhileBuilding(s.o.Config.Runtime.GCPercent))
	}
	return s.slots
}
