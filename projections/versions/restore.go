package versions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// pastRestorer restores the documents of a moment of the past in a version that shows it.
// The segments of that time may have been merged and deleted since. Their documents are
// in the segments of later events or, if they were dead when the segments were merged, in
// the git mirrors, from which they are analyzed again. Documents that are in neither stay
// missing, and are counted.
type pastRestorer struct {
	o    Options
	made *madeObjects // nil unless a version of the past is built
}

// objectStore returns the store from which the version reads objects.
func (p *pastRestorer) objectStore(building bool) segmentstore.Store {
	if !building {
		return p.o.Objects
	}
	p.made = &madeObjects{Store: p.o.Objects}
	p.made.mu.paths = map[string]string{}
	return p.made
}

// close removes the segments that were built.
func (p *pastRestorer) close() {
	if p.made != nil {
		p.made.removeFiles()
	}
}

// restoreDocuments completes a version that has applied everything below the given
// checkpoints, and returns what is missing.
func (p *pastRestorer) restoreDocuments(ctx context.Context, where *places.Places, at []projections.Checkpoint) (missing projections.Missing, err error) {
	for _, c := range at {
		if n, err := countUnheld(where, c.Partition); err != nil || n == 0 {
			if err != nil {
				return missing, err
			}
			continue
		}
		if err := p.adoptLater(ctx, where, c); err != nil {
			return missing, fmt.Errorf("documents of partition %d: %w", c.Partition, err)
		}
		if err := p.analyzeMissing(ctx, where, c.Partition); err != nil {
			return missing, fmt.Errorf("documents of partition %d from the mirrors: %w", c.Partition, err)
		}
		if err := addMissing(ctx, where, c.Partition, &missing); err != nil {
			return missing, err
		}
	}
	if missing.Documents > 0 {
		p.o.Logger.Warn("documents of the past are missing: neither a segment nor a git mirror has them any more", "documents", missing.Documents, "files", missing.Files)
	}
	return missing, nil
}

// addMissing adds the counts of what a partition lacks.
func addMissing(ctx context.Context, where *places.Places, partition int32, missing *projections.Missing) error {
	n, err := countUnheld(where, partition)
	if err != nil || n == 0 {
		return err
	}
	missing.Documents += n
	byRepository, err := findMissingDocuments(ctx, where, partition)
	if err != nil {
		return err
	}
	v := where.Acquire()
	defer v.Release()
	for _, id := range slices.Sorted(maps.Keys(byRepository)) {
		for _, w := range byRepository[id] {
			if len(missing.Files) == projections.MaxMissingFiles {
				return nil
			}
			missing.Files = append(missing.Files, v.Repository(id).Name+": "+w.Path)
		}
	}
	return nil
}

// countUnheld counts the documents of a partition that are in no segment.
func countUnheld(where *places.Places, partition int32) (int, error) {
	v := where.Acquire()
	defer v.Release()
	keys, err := v.UnheldIn(partition)
	return len(keys), err
}

// adoptLater takes documents from existing segments of events after c. It starts with the
// latest segments, because they are the largest.
func (p *pastRestorer) adoptLater(ctx context.Context, where *places.Places, c projections.Checkpoint) error {
	segments, err := p.laterSegments(ctx, c)
	if err != nil {
		return err
	}
	for _, ref := range slices.Backward(segments) {
		if n, err := countUnheld(where, c.Partition); err != nil || n == 0 {
			return err
		}
		if _, err := where.Adopt(ctx, c.Partition, ref); err != nil {
			return fmt.Errorf("segment %s: %w", ref.ID, err)
		}
	}
	return nil
}

// laterSegments returns, in order, the segments that the partition got after c and that
// have not been merged.
func (p *pastRestorer) laterSegments(ctx context.Context, c projections.Checkpoint) ([]event.SegmentRef, error) {
	high, err := p.o.Log.HighWater(ctx, event.TopicEvents)
	if err != nil || c.Next >= high[c.Partition] {
		return nil, err
	}
	var segments []event.SegmentRef
	for rec, err := range event.ReadRange(ctx, p.o.Log, event.TopicEvents, c.Partition, c.Next, high[c.Partition]) {
		if err != nil {
			return nil, err
		}
		_, ev, err := event.Decode(rec)
		switch e := ev.(type) {
		case *event.RevisionIndexed:
			segments = append(segments, e.Segments...)
		case *event.SegmentsMerged:
			segments = append(segments, e.AllOutputs()...)
			gone := e.Inputs
			if err == nil {
				segments = slices.DeleteFunc(segments, func(s event.SegmentRef) bool {
					return slices.Contains(gone, s.ID) && !e.Adds(s.ID)
				})
			}
		}
	}
	return segments, nil
}

// MissingDocument is a document to look for in a mirror, and one place of it.
type MissingDocument struct {
	Key  code.DocumentKey
	Path string
}

// analyzeMissing takes documents from the mirrors.
func (p *pastRestorer) analyzeMissing(ctx context.Context, where *places.Places, partition int32) error {
	byRepository, err := findMissingDocuments(ctx, where, partition)
	if err != nil || p.o.AnalyzeBlobs == nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(byRepository)) {
		a := &analysis{past: p, seed: fmt.Appendf(nil, "repository %d, of the past", id)}
		a.builder = segment.NewBuilder(segment.Options{Seed: a.seed})
		err := p.o.AnalyzeBlobs(ctx, id, byRepository[id], a.addDocument)
		if err == nil {
			err = a.finishSegment()
		}
		if err != nil {
			return err
		}
		for _, ref := range a.refs {
			if _, err := where.Adopt(ctx, partition, ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// analysis builds segments of documents that were analyzed again.
type analysis struct {
	past    *pastRestorer
	seed    []byte
	builder *segment.Builder
	refs    []event.SegmentRef
}

func (a *analysis) addDocument(d segment.Document) error {
	err := a.builder.Add(d)
	if errors.Is(err, segment.ErrFull) {
		if err := a.finishSegment(); err != nil {
			return err
		}
		a.builder.Reset(segment.Options{Seed: a.seed})
		err = a.builder.Add(d)
	}
	return err
}

// finishSegment finishes the current segment.
func (a *analysis) finishSegment() error {
	if a.builder.Documents() == 0 {
		return nil
	}
	path, err := a.past.made.nextPath(a.past.o.DataDir)
	if err != nil {
		return err
	}
	meta, err := a.builder.Finish(path)
	if err != nil {
		return err
	}
	a.past.made.addFile(segmentstore.SegmentName(meta.ID), path)
	a.refs = append(a.refs, event.SegmentRef{ID: meta.ID.String(), SizeBytes: meta.SizeBytes, TextBytes: meta.TextBytes, Documents: meta.Documents})
	return nil
}

// findMissingDocuments returns, for each repository of a partition, the documents of its
// refs that are in no segment, without duplicates.
func findMissingDocuments(ctx context.Context, where *places.Places, partition int32) (map[code.RepositoryID][]MissingDocument, error) {
	v := where.Acquire()
	defer v.Release()
	keys, err := v.UnheldIn(partition)
	if err != nil {
		return nil, err
	}
	out := map[code.RepositoryID][]MissingDocument{}
	for _, r := range v.Repositories() {
		if r == nil || r.Partition != partition {
			continue
		}
		found := map[code.DocumentKey]bool{}
		for _, ref := range r.Refs {
			err := v.Files(ctx, r.ID, ref.Ref, "", func(place places.Place) bool {
				if place.Skipped == "" && keys[place.Document] && !found[place.Document] {
					found[place.Document] = true
					out[r.ID] = append(out[r.ID], MissingDocument{place.Document, place.Path})
				}
				return true
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// madeObjects is a store with additional objects that this process built. Those are
// temporary: no other process uses them, and close removes them.
type madeObjects struct {
	segmentstore.Store
	dir string
	n   int // number of built segments
	mu  struct {
		sync.Mutex
		paths map[string]string
	}
}

// addFile adds the file of a segment that was built.
func (m *madeObjects) addFile(name, path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.paths[name] = path
}

// Fetch implements segmentstore.Store.
func (m *madeObjects) Fetch(ctx context.Context, name, path string) error {
	m.mu.Lock()
	made, ok := m.mu.paths[name]
	delete(m.mu.paths, name)
	m.mu.Unlock()
	if !ok {
		return m.Store.Fetch(ctx, name, path)
	}
	return os.Rename(made, path)
}

// nextPath returns a path for a new segment, in a directory below the given one.
func (m *madeObjects) nextPath(below string) (_ string, err error) {
	if m.dir == "" {
		if m.dir, err = os.MkdirTemp(below, "past-"); err != nil {
			return "", err
		}
	}
	m.n++
	return filepath.Join(m.dir, fmt.Sprint("segment-", m.n)), nil
}

func (m *madeObjects) removeFiles() {
	if m.dir != "" {
		_ = os.RemoveAll(m.dir) // leftover files are removed with the version's home
	}
}
