package compactor

import (
	"testing"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/event"
)

// BenchmarkMerge merges segments of two sizes: those that pushes create, and those in the
// highest tier.
func BenchmarkMerge(b *testing.B) {
	for _, c := range []struct {
		name                string
		segments, documents int
	}{{"small", FanIn, 3}, {"backlog", MaxInputs, 3}, {"large", FanIn, 400}} {
		b.Run(c.name, func(b *testing.B) { benchmarkMerge(b, c.segments, c.documents) })
	}
}

func benchmarkMerge(b *testing.B, segments, documents int) {
	s := newSite(b, 1)
	var inputs []*entry
	text := int64(0)
	for range segments {
		list := make([]segment.Document, documents)
		for i := range list {
			list[i] = s.documentOf(s.rng.IntN(256))
			text += int64(len(list[i].Text))
		}
		id := s.push(0, list...)
		inputs = append(inputs, &entry{id: id, ref: event.SegmentRef{ID: id.String()}})
	}
	clear(s.documents)
	o := Options{Objects: s.store, TempDir: b.TempDir()}
	o.ensureDefaults()
	m := newMerger(o)
	b.SetBytes(text)
	for b.Loop() {
		out, err := m.mergeSegments(s.ctx, 0, inputs, nil)
		s.check(err)
		if out.outputs[0].Segment.Documents != segments*documents {
			b.Fatalf("%d documents", out.outputs[0].Segment.Documents)
		}
		b.StopTimer()
		id, err := segment.ParseID(out.outputs[0].Segment.ID)
		s.check(err)
		s.check(s.store.Delete(s.ctx, segmentstore.SegmentName(id)))
		b.StartTimer()
	}
}
