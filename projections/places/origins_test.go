package places_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// brought holds the repositories that brought documents of each segment, according to the
// records.
type brought map[segment.ID]map[code.RepositoryID]bool

func (b *brought) note(t testing.TB, rec event.Record) {
	_, ev, err := event.Decode(rec)
	must(t, err)
	add := func(id string, repositories map[code.RepositoryID]bool) {
		parsed, err := segment.ParseID(id)
		must(t, err)
		if *b == nil {
			*b = brought{}
		}
		if (*b)[parsed] == nil {
			(*b)[parsed] = map[code.RepositoryID]bool{}
		}
		maps.Copy((*b)[parsed], repositories)
	}
	switch ev := ev.(type) {
	case *event.RevisionIndexed:
		for _, s := range ev.Segments {
			add(s.ID, map[code.RepositoryID]bool{ev.Repository: true})
		}
	case *event.SegmentsMerged:
		for _, input := range ev.Inputs {
			id, err := segment.ParseID(input)
			must(t, err)
			if ev.Output != nil {
				add(ev.Output.ID, (*b)[id])
			}
		}
	}
}

// checkOrigins checks that the origins of a segment are the repositories that brought its
// documents, or are not known.
func (h *history) checkOrigins(v *places.View) error {
	for _, info := range v.SegmentInfos() {
		if info.Origins == nil {
			h.originless++
			continue
		}
		h.originated++
		if h.brought[info.ID] == nil {
			continue // it was added before a restart
		}
		for r := range h.brought[info.ID] {
			if !slices.Contains(info.Origins, r) {
				return fmt.Errorf("segment %s has the origins %v, repository %s brought documents too", info.ID, info.Origins, r)
			}
		}
		for _, r := range info.Origins {
			if !h.brought[info.ID][r] {
				return fmt.Errorf("segment %s has the origins %v, repository %s brought nothing", info.ID, info.Origins, r)
			}
		}
	}
	repos := v.Repositories()
	for i, s := range v.Segments() {
		for _, n := range s.Origins {
			if h.brought[s.Reader.ID()] != nil && int(n) < len(repos) && repos[n] != nil && !h.brought[s.Reader.ID()][repos[n].ID] {
				return fmt.Errorf("segment %d has the origin %s, which brought nothing", i, repos[n].Name)
			}
		}
	}
	return nil
}

// TestOriginsAreKnown checks that the origins of a random history are known, before and
// after a restart. (Every check of a history compares them.)
func TestOriginsAreKnown(t *testing.T) {
	for _, seed := range seeds(2) {
		m, objects := storetest.NewMemory(), newObjects(t)
		h := &history{bench: openBench(t, m, objects, places.Options{}), w: projectiontest.NewWorld(t, seed, 2, objects), faithful: true}
		for i := range 200 {
			h.step(i)
		}
		h.originated, h.originless = 0, 0
		known := h.brought
		if h.finish(); h.merged == 0 {
			t.Errorf("seed %d: nothing was merged", seed)
		}
		h.bench = openBench(t, m, objects, places.Options{})
		h.brought = known
		if err := h.check(); err != nil {
			t.Errorf("seed %d, after a restart: %v", seed, err)
		}
		if h.originated == 0 || h.originless > 0 {
			t.Errorf("seed %d: the origins of %d segments are known after a restart, of %d not", seed, h.originated, h.originless)
		}
		h.close()
	}
}
