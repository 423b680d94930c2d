package places

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/lru"
)

// ErrTooMany reports that the requested refs have more files than one query may read.
var ErrTooMany = errors.New("too many files in the requested refs; name fewer repositories or refs")

// revision is a ref to resolve.
type revision struct {
	repository uint32 // its number
	repo       *Repository
	ref        *Ref
}

// Revisions returns the segments with the places of all refs that match, including
// default branches, in the order of Segments; segments without a place are omitted.
// Places.Ref is an index into the returned refs, which are ordered by name; equal names
// of different repositories share one element. match is called for each registered
// repository and ref, on this goroutine.
//
// It reads manifests, at about 2 µs per file, and caches the result, within the bound of
// Options, until the refs move. It returns ErrTooMany beyond MaxRevisionPlaces.
func (v *View) Revisions(ctx context.Context, match func(r *Repository, ref code.Ref) bool) ([]Segment, []code.Ref, error) {
	revisions, names, files := v.matchRefs(match)
	if files > v.p.maxPlaces {
		return nil, nil, fmt.Errorf("places: %d files in %d refs, at most %d: %w", files, len(revisions), v.p.maxPlaces, ErrTooMany)
	}
	k := v.cacheKey(revisions)
	if segments, ok := v.p.revisions.get(k); ok {
		v.p.metrics.revisionHits.Inc()
		return segments, names, nil
	}
	v.p.metrics.revisionMisses.Inc()
	var segments []Segment
	for _, part := range v.parts {
		found, err := part.resolveRefs(ctx, revisions, names)
		if err != nil {
			return nil, nil, err
		}
		segments = append(segments, found...)
	}
	v.p.revisions.put(k, segments)
	return segments, names, nil
}

// matchRefs returns the refs that match, their names, and the number of their files.
func (v *View) matchRefs(match func(r *Repository, ref code.Ref) bool) (revisions []revision, names []code.Ref, files int) {
	for i, repo := range v.repos {
		if repo == nil {
			continue
		}
		for _, ref := range repo.Refs {
			if match(repo, ref.Ref) {
				revisions = append(revisions, revision{uint32(i), repo, ref})
				names = append(names, ref.Ref)
				files += ref.Files
			}
		}
	}
	slices.Sort(names)
	return revisions, slices.Compact(names), files
}

// cacheKey returns a key for the current state of the refs and the locations of their
// documents.
func (v *View) cacheKey(revisions []revision) string {
	var k []byte
	for _, r := range revisions {
		k = binary.AppendUvarint(k, uint64(r.repository))
		k = binary.AppendUvarint(k, uint64(r.ref.manifest))
		k = binary.AppendUvarint(k, uint64(r.ref.version))
		k = binary.AppendUvarint(k, v.findPartition(r.repo.Partition).generation)
	}
	return string(k)
}

// file is a file of a ref whose document is not located yet.
type file struct {
	document   code.DocumentKey
	repository uint32
	ref        uint32
	flags      code.Flags
	path       string
	at         location
}

// resolveRefs returns the places of the refs that belong to the partition.
func (pv *partitionView) resolveRefs(ctx context.Context, revisions []revision, names []code.Ref) ([]Segment, error) {
	var files []file
	var err error
	for _, r := range revisions {
		if r.repo.Partition != pv.number {
			continue
		}
		ref, _ := slices.BinarySearch(names, r.ref.Ref)
		if files, err = pv.appendFiles(ctx, files, r, uint32(ref)); err != nil {
			return nil, err
		}
	}
	if err := pv.locateAll(ctx, files); err != nil {
		return nil, err
	}
	return pv.buildColumns(files), ctx.Err()
}

func (pv *partitionView) appendFiles(ctx context.Context, files []file, r revision, ref uint32) ([]file, error) {
	l, _, err := readLevels(pv.snapshot, r.repo.ID, r.ref.manifest)
	if err != nil {
		return nil, err
	}
	w, err := newWalk(pv.snapshot, r.repo.ID, l)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	for n := 1; w.Next(); n++ {
		e, err := decodeEntry(w.value)
		if err != nil {
			return nil, err
		}
		if e.kind == entryDocument {
			files = append(files, file{document: e.document, repository: r.repository, ref: ref, flags: e.flags, path: string(w.path)})
		}
		if n%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return files, w.Close()
}

// locateAll fills in the locations of the documents, reading them in the order of their
// keys.
func (pv *partitionView) locateAll(ctx context.Context, files []file) error {
	slices.SortFunc(files, func(a, b file) int { return compareDocuments(a.document, b.document) })
	prefix := partitionPrefix(kindDocument, pv.number)
	it, err := pv.snapshot.Iter(prefix, store.Successor(prefix))
	if err != nil {
		return err
	}
	for i := range files {
		if i > 0 && files[i].document == files[i-1].document {
			files[i].at = files[i-1].at
			continue
		}
		k := documentKey(kindDocument, pv.number, files[i].document)
		if !it.SeekGE(k) || !bytes.Equal(it.Key(), k) {
			continue
		}
		row, err := decodeDocumentRow(it.Value())
		if err == nil && i%checkEvery == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
		files[i].at = row.firstHolder()
	}
	return it.Close()
}

// buildColumns builds the places of each segment.
func (pv *partitionView) buildColumns(files []file) []Segment {
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(cmp.Compare(a.at.sequence, b.at.sequence), cmp.Compare(a.at.document, b.at.document),
			cmp.Compare(a.repository, b.repository), cmp.Compare(a.ref, b.ref), cmp.Compare(a.path, b.path))
	})
	var segments []Segment
	for len(files) > 0 {
		n := 1
		for n < len(files) && files[n].at.sequence == files[0].at.sequence {
			n++
		}
		if i, ok := pv.bySequence[files[0].at.sequence]; ok {
			reader := pv.segments[i].Reader
			b := segment.NewPlacesBuilder(reader.Documents())
			for _, f := range files[:n] {
				b.Add(f.at.document, f.repository, f.ref, f.flags, f.path)
			}
			segments = append(segments, Segment{reader, b.Build(), pv.segments[i].Origins, pv.number})
		}
		files = files[n:]
	}
	return segments
}

// revisionCache caches resolved refs and evicts the least recently used ones first.
type revisionCache struct {
	mu struct {
		sync.Mutex
		segments *lru.Cache[string, []Segment]
	}
}

func newRevisionCache(limitBytes int64) *revisionCache {
	c := &revisionCache{}
	c.mu.segments = lru.New[string, []Segment](limitBytes)
	return c
}

func (c *revisionCache) get(key string) ([]Segment, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.segments.Get(key)
}

func (c *revisionCache) put(key string, segments []Segment) {
	size := int64(len(key)) + 64
	for _, s := range segments {
		size += int64(s.Places.SizeBytes()) + 64
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.segments.Put(key, segments, size)
}

// sizeBytes returns the size of the cached data.
func (c *revisionCache) sizeBytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.segments.Weight()
}
