package indexer

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// These are bounds of the directories that are visited to find blobs that refs of a
// repository already contain. Beyond them, a blob is read even if a segment holds it, which
// costs only work. So a search may cost about as much as it saves: walkPerBlob directories
// for each blob, and one more for each walkBytes of it. A push that returns to an earlier
// state would otherwise visit the whole tree for a few small files.
const (
	maxWalk   = 1 << 20
	minWalk   = 256
	walkBytes = 4 << 10
)

// maxNamed bounds the documents of one run that are remembered, at about 60 bytes each.
const maxNamed = 1 << 20

// namedDocuments are the documents of the refs announced in one run.
type namedDocuments struct {
	// documents are true if a segment of this run holds them.
	documents map[code.DocumentKey]bool
	overflow  bool
}

// add adds the documents of an announced batch.
func (n *namedDocuments) add(b *batch, sealed map[code.DocumentKey]bool) {
	for _, ref := range b.refs {
		for i := range ref.changes {
			c := &ref.changes[i]
			if c.Blob == (code.BlobID{}) {
				continue
			}
			k := code.DocumentKey{Blob: c.Blob, Language: c.Language}
			if _, there := n.documents[k]; !there && len(n.documents) >= maxNamed {
				n.overflow = true
				return
			}
			n.documents[k] = n.documents[k] || sealed[k]
		}
	}
}

// nameKnown sets the documents of blobs that a live segment holds, without reading the
// blobs: their readings are known, and an announced ref, as it was before the batch, or
// the batch's own base contains them. A blob that was skipped for its content is skipped
// again.
func (h *indexRun) nameKnown(ctx context.Context, b *batch) error {
	keys := map[readingKey]struct{}{}
	h.eachKey(b, func(k readingKey, _ *item) { keys[k] = struct{}{} })
	found := map[readingKey]reading{}
	if err := h.readings.findReadings(keys, func(k readingKey, r reading) { found[k] = r }); err != nil {
		h.x.o.Logger.Warn("cannot load the cache of analyzed blobs; blobs are read again", "repository_id", h.repo, "error", err)
		return nil
	}
	wanted, most := map[mirror.ObjectID][]readingKey{}, minWalk
	for i := range b.items {
		it := &b.items[i]
		if open := h.knownBefore(b, it, found); len(open) > 0 {
			wanted[it.id] = open
			most += walkPerBlob + int(max(it.size, 0)/walkBytes)
		}
	}
	if err := h.findLive(ctx, wanted, min(most, maxWalk), func(id mirror.ObjectID, k readingKey) {
		it := &b.items[b.byBlob[id]]
		it.known = append(it.known, found[k].Language)
	}); err != nil {
		return err
	}
	for i := range b.items {
		h.nameItem(b, &b.items[i], found)
	}
	return h.nameFromFamily(ctx, b, found)
}

// eachKey calls visit with the keys of the readings of all items.
func (h *indexRun) eachKey(b *batch, visit func(k readingKey, it *item)) {
	for i := range b.items {
		it := &b.items[i]
		for _, p := range it.places {
			visit(h.placeKey(b, it, p), it)
		}
		for _, p := range it.basePaths {
			visit(h.itemKey(it, p), it)
		}
	}
}

func (h *indexRun) placeKey(b *batch, it *item, p place) readingKey {
	return h.itemKey(it, basePath{b.changeAt(p).Path, b.overrideAt(p).Language})
}

// itemKey returns the key of the reading of a blob at a path. A language that attributes
// decide is a part of the class of the path.
func (h *indexRun) itemKey(it *item, p basePath) readingKey {
	class := h.x.o.Analyzer.NameClass(p.path)
	if p.language != "" {
		class += "\x00" + string(p.language)
	}
	return keyOfReading(it.id.Blob(), class)
}

// knownBefore adds the languages for which the bases, and the refs announced in this run,
// contain the blob. It returns the keys of the places that remain open, or none if the
// blob must be read in any case.
func (h *indexRun) knownBefore(b *batch, it *item, found map[readingKey]reading) (open []readingKey) {
	for _, p := range it.basePaths {
		if r, ok := found[h.itemKey(it, p)]; ok && r.skipped == "" {
			it.known = append(it.known, r.Language)
		}
	}
	for _, p := range it.places {
		k := h.placeKey(b, it, p)
		r, ok := found[k]
		if !ok {
			return nil
		}
		sealed, there := h.named.documents[code.DocumentKey{Blob: it.id.Blob(), Language: r.Language}]
		switch {
		case r.skipped != "" || slices.Contains(it.known, r.Language):
		case there && (sealed || !it.mustRead):
			it.known = append(it.known, r.Language)
		case it.mustRead:
			return nil
		default:
			open = append(open, k)
		}
	}
	return open
}

// findLive calls live for each wanted key for which an indexed ref contains the blob. It
// omits refs whose documents this run remembers, and visits at most the given number of
// directories.
func (h *indexRun) findLive(ctx context.Context, wanted map[mirror.ObjectID][]readingKey, most int, live func(mirror.ObjectID, readingKey)) error {
	if len(wanted) == 0 {
		return nil
	}
	seen := map[code.CommitID]bool{}
	var commits []code.CommitID
	for _, ref := range slices.Sorted(maps.Keys(h.indexed)) {
		commit := h.indexed[ref]
		if seen[commit] || h.announced[ref] && !h.named.overflow {
			continue
		}
		seen[commit] = true
		if ref == h.head {
			commits = slices.Insert(commits, 0, commit)
		} else {
			commits = append(commits, commit)
		}
	}
	_, err := h.walkLive(ctx, h.trees, commits, most, wanted, live)
	return err
}

// walkLive calls live for each wanted key for which a commit contains the blob, and
// removes the key from wanted. It visits at most the given number of directories and
// returns how many it visited.
func (h *indexRun) walkLive(ctx context.Context, trees *mirror.Trees, commits []code.CommitID, most int, wanted map[mirror.ObjectID][]readingKey, live func(mirror.ObjectID, readingKey)) (visited int, err error) {
	attributes := &liveAttributes{h: h, trees: trees}
	enter := func(dir string, names []mirror.Name) error { return attributes.enter(ctx, dir, names) }
	visited, err = trees.Walk(ctx, commits, most, enter, func(dir, name string, e mirror.Entry) bool {
		open, ok := wanted[e.ID]
		if !ok || !e.Mode.IsFile() || attributes.forcesLanguage(dir, name) {
			return true
		}
		k := keyOfReading(e.ID.Blob(), h.x.o.Analyzer.NameClass(code.SpellPath(name)))
		if i := slices.Index(open, k); i >= 0 {
			live(e.ID, k)
			open = slices.DeleteFunc(open, func(other readingKey) bool { return other == k })
			if wanted[e.ID] = open; len(open) == 0 {
				delete(wanted, e.ID)
			}
		}
		return len(wanted) > 0
	})
	if errors.Is(err, mirror.ErrTooLarge) || errors.Is(err, mirror.ErrMissing) {
		return visited, nil // blobs that were not found are read
	}
	return visited, err
}

// nameItem sets the documents of all places of a blob if all are known, and then clears
// the places.
func (h *indexRun) nameItem(b *batch, it *item, found map[readingKey]reading) {
	for _, p := range it.places {
		r, ok := found[h.placeKey(b, it, p)]
		if !ok || r.skipped == "" && !slices.Contains(it.known, r.Language) {
			return
		}
	}
	for _, p := range it.places {
		c := b.changeAt(p)
		r := found[h.placeKey(b, it, p)]
		if c.Skipped = r.skipped; r.skipped != "" {
			h.x.metrics.countSkipped(r.skipped, 1)
			continue
		}
		c.Blob, c.Language, c.Flags = it.id.Blob(), r.Language, b.overrideAt(p).Apply(h.x.o.Analyzer.Flags(c.Path, r.Reading))
	}
	h.x.metrics.known.Inc()
	it.places = nil
}
