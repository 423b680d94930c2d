package compactor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// A share is the documents of a segment that go into one output of its division.
type share struct {
	class     string
	origins   []code.RepositoryID // sorted
	documents []uint64            // bit d is set for document d
}

// errNoReader means that a live document of a segment has no reader, which contradicts the
// projection.
var errNoReader = errors.New("a live document is named by no repository")

// shareDocuments divides the live documents of a segment by class, in the order of the
// first document of each. If there are more than event.MaxOutputs shares, the last one has
// documents of several classes, and its output is divided again.
func shareDocuments(readers []Reader, live []uint64) ([]*share, error) {
	var shares []*share
	open := map[string]*share{} // by class, the share that documents are added to
	for d, r := range readers {
		if live[d/64]>>(d%64)&1 == 0 {
			continue
		}
		if r == (Reader{}) {
			return nil, errNoReader
		}
		s := open[r.Class]
		at, known := 0, false
		if s != nil {
			at, known = slices.BinarySearch(s.origins, r.Repository)
		}
		if s == nil || !known && len(s.origins) == event.MaxOrigins {
			if len(shares) == event.MaxOutputs {
				s = shares[len(shares)-1]
			} else {
				s = &share{class: r.Class, documents: make([]uint64, len(live))}
				shares = append(shares, s)
			}
			open[r.Class] = s
			at, known = slices.BinarySearch(s.origins, r.Repository)
		}
		if !known {
			s.origins = slices.Insert(s.origins, at, r.Repository)
		}
		s.documents[d/64] |= 1 << (d % 64)
	}
	return shares, nil
}

// divideSegment divides a segment into one for each class of readers, and drops its dead
// documents.
func (m *merger) divideSegment(ctx context.Context, partition int32, inputs []*entry, view View) (*mergeResult, error) {
	e := inputs[0]
	dir, end, err := m.begin(ctx, inputs)
	if err != nil {
		return nil, err
	}
	defer end()
	out := &mergeResult{inputs: inputs}
	err = m.withInput(ctx, e, dir, func(r *segment.Reader) error {
		all := build{merger: m, dir: dir, view: view}
		live, err := all.liveDocuments(e, r.Documents())
		if err != nil {
			return err
		}
		readers, err := view.Readers(ctx, e.id)
		if err != nil {
			return wrapFailure(failureStore, "read who may read the documents", err)
		}
		if live == nil || len(readers) != r.Documents() {
			return fmt.Errorf("%d of %d documents have readers: %w", len(readers), r.Documents(), errNoReader)
		}
		shares, err := shareDocuments(readers, live)
		if err != nil {
			return err
		}
		for i, s := range shares {
			b := build{merger: m, dir: dir, seen: map[code.DocumentKey]bool{}}
			b.reset(segment.Options{Seed: fmt.Appendf(outputSeed(partition, inputs), "/share %d", i), MaxTextBytes: m.maxText, Grams: true})
			if err := b.addDocuments(ctx, e, r, s.documents); err != nil {
				return err
			}
			output, err := b.sealOutput(ctx)
			if err != nil {
				return wrapFailure(failureStore, "write a share of a segment", err)
			}
			out.outputs = append(out.outputs, event.MergeOutput{Segment: *output, Origins: s.origins})
			out.dropped -= output.Documents
		}
		out.dropped += r.Documents()
		return nil
	})
	if errors.Is(err, errNoReader) {
		e.keepAll = true // the next View shows more
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}
