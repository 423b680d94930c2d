package indexer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Repositories whose histories begin with the same commit are a family: forks, mirrors
// and clones under several names (docs/adr/0024). Documents are located per partition, so
// documents that a relative in the same partition has announced are in a live segment for
// all of them. A relative may drop them at any time, so the documents that a batch relies
// on are verified before the append, and no relative announces until it is done.

const (
	// maxRelatives bounds the relatives that are searched for one batch.
	maxRelatives = 8
	// maxFamilyWalk bounds the directories of relatives that are visited for one batch,
	// and walkPerBlob those added for each blob in question: the owner of a relative
	// controls the size of its trees.
	maxFamilyWalk = 1 << 16
	walkPerBlob   = 4
)

// errFamilyChanged means that a relative dropped documents that a batch relies on.
var errFamilyChanged = errors.New("a relative no longer has what was taken for known")

// families maps the root of a history to the repositories that this process has mirrors
// of.
type families struct {
	mu struct {
		sync.Mutex
		loaded  bool
		roots   map[code.RepositoryID]code.CommitID
		members map[code.CommitID][]code.RepositoryID // in the order of joining
		locks   map[familyLock]chan struct{}
		// changes counts the announcements of a repository, each at its begin and end.
		changes map[code.RepositoryID]uint64
	}
}

// loadLocked reads the families of the existing mirrors. It must be called with mu held.
func (f *families) loadLocked(ms *mirror.Mirrors) error {
	if f.mu.loaded {
		return nil
	}
	ids, err := ms.Repositories()
	if err != nil {
		return err
	}
	f.mu.roots, f.mu.members = map[code.RepositoryID]code.CommitID{}, map[code.CommitID][]code.RepositoryID{}
	f.mu.locks, f.mu.changes = map[familyLock]chan struct{}{}, map[code.RepositoryID]uint64{}
	type member struct {
		id    code.RepositoryID
		root  code.CommitID
		since time.Time
	}
	var members []member
	for _, id := range ids {
		m := ms.Mirror(id)
		if root, _ := m.Family(); root != "" {
			members = append(members, member{id, root, m.FamilySince()})
		}
	}
	slices.SortStableFunc(members, func(a, b member) int { return a.since.Compare(b.since) })
	for _, m := range members {
		f.joinLocked(m.id, m.root)
	}
	f.mu.loaded = true
	return nil
}

func (f *families) joinLocked(id code.RepositoryID, root code.CommitID) {
	f.leaveLocked(id)
	f.mu.roots[id] = root
	f.mu.members[root] = append(f.mu.members[root], id)
}

func (f *families) leaveLocked(id code.RepositoryID) {
	root, ok := f.mu.roots[id]
	if !ok {
		return
	}
	delete(f.mu.roots, id)
	f.mu.members[root] = slices.DeleteFunc(f.mu.members[root], func(other code.RepositoryID) bool { return other == id })
	if len(f.mu.members[root]) == 0 {
		delete(f.mu.members, root)
	}
}

// familyOf returns the root commit that identifies the family of a repository, or an
// empty string.
func (x *Indexer) familyOf(id code.RepositoryID) (code.CommitID, error) {
	f := &x.families
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.loadLocked(x.o.Mirrors)
	return f.mu.roots[id], err
}

// leaveFamily removes a repository whose mirror is deleted.
func (x *Indexer) leaveFamily(id code.RepositoryID) {
	f := &x.families
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.loaded {
		f.leaveLocked(id)
		f.mu.changes[id]++
	}
}

// joinFamily determines the family of the repository from the commit of its default
// branch, unless it is known. A history that is too long has no family.
func (h *indexRun) joinFamily(ctx context.Context, revs []revision) error {
	root, err := h.x.familyOf(h.repo)
	if err != nil {
		return err
	}
	h.root = root
	if _, known := h.m.Family(); known {
		return nil
	}
	commit := h.indexed[h.head]
	for _, rev := range revs {
		if rev.Ref == h.head {
			commit = rev.Commit
		}
	}
	if commit == "" {
		return nil // it has no default branch yet
	}
	root, err = h.m.Root(ctx, commit)
	if err != nil && (ctx.Err() != nil || !errors.Is(err, mirror.ErrTooLarge) && !errors.Is(err, mirror.ErrMissing)) {
		return err
	}
	if err := h.m.SaveFamily(root); err != nil {
		return err
	}
	if h.root = root; root == "" {
		return nil
	}
	f := &h.x.families
	f.mu.Lock()
	defer f.mu.Unlock()
	f.joinLocked(h.repo, root)
	return nil
}

// noteChange records that an announcement of a repository begins or has ended.
func (x *Indexer) noteChange(id code.RepositoryID) {
	f := &x.families
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.loaded {
		f.mu.changes[id]++
	}
}

// changesOf returns the number of calls of noteChange for a repository.
func (x *Indexer) changesOf(id code.RepositoryID) uint64 {
	f := &x.families
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.changes[id]
}

// relative is a repository of the family, with the blobs that a batch relies on because
// of it.
type relative struct {
	id   code.RepositoryID
	m    *mirror.Mirror
	used map[mirror.ObjectID][]readingKey
	// changes is the value of changesOf before the relative was searched.
	changes uint64
}

// relatives returns the members of the family whose documents lie in the same partition,
// in the order of joining: a fork comes after its origin.
func (h *indexRun) relatives(ctx context.Context) ([]*relative, error) {
	if h.root == "" || h.alone {
		return nil, nil
	}
	high, err := h.x.o.Log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return nil, err
	}
	f := &h.x.families
	f.mu.Lock()
	members := slices.Clone(f.mu.members[h.root])
	f.mu.Unlock()
	var out []*relative
	for _, id := range members {
		if id == h.repo || eventlog.PartitionOf(event.RecordKey(id), int32(len(high))) != h.partition {
			continue
		}
		if _, doubtful := h.x.partitions.staleSince(h.partition, id); doubtful {
			continue
		}
		m := h.x.o.Mirrors.Mirror(id)
		if !m.Exists() {
			continue
		}
		out = append(out, &relative{id: id, m: m, used: map[mirror.ObjectID][]readingKey{}, changes: h.x.changesOf(id)})
		if len(out) == maxRelatives {
			break
		}
	}
	return out, nil
}

// nameFromFamily sets the documents of blobs that relatives have announced. It adds the
// readings of relatives to found, which holds the known ones.
func (h *indexRun) nameFromFamily(ctx context.Context, b *batch, found map[readingKey]reading) error {
	relatives, err := h.relatives(ctx)
	if err != nil || len(relatives) == 0 {
		return err
	}
	left := maxFamilyWalk
	for _, it := range b.items {
		if len(it.places) > 0 {
			left += walkPerBlob
		}
	}
	for _, r := range relatives {
		if err := h.addReadings(b, r, found); err != nil {
			continue // without its readings, a relative cannot help
		}
		wanted := h.wantedFrom(b, found)
		if len(wanted) == 0 {
			continue
		}
		visited, err := h.findInRelative(ctx, r, wanted, min(left, maxWalk), func(id mirror.ObjectID, k readingKey) {
			it := &b.items[b.byBlob[id]]
			it.known = append(it.known, found[k].Language)
			r.used[id] = append(r.used[id], k)
		})
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			h.x.o.Logger.Warn("cannot read the mirror of a related repository; its blobs are read again", "repository_id", r.id, "error", err)
		}
		if len(r.used) > 0 {
			b.relatives = append(b.relatives, r)
		}
		if left -= visited; left <= 0 {
			break
		}
	}
	h.nameItems(b, found)
	return nil
}

// addReadings adds a relative's readings of blobs in the batch that have none yet.
func (h *indexRun) addReadings(b *batch, r *relative, found map[readingKey]reading) error {
	missing := map[readingKey]struct{}{}
	h.eachKey(b, func(k readingKey, it *item) {
		if _, ok := found[k]; !ok && len(it.places) > 0 && !it.mustRead {
			missing[k] = struct{}{}
		}
	})
	return readingsOf(r.m).findReadings(missing, func(k readingKey, r reading) { found[k] = r })
}

// wantedFrom returns the blobs, with the keys of their places, of which everything is
// known except whether a live segment holds them.
func (h *indexRun) wantedFrom(b *batch, found map[readingKey]reading) map[mirror.ObjectID][]readingKey {
	wanted := map[mirror.ObjectID][]readingKey{}
	for i := range b.items {
		it := &b.items[i]
		if it.mustRead {
			continue
		}
		var open []readingKey
		for _, p := range it.places {
			k := h.placeKey(b, it, p)
			r, ok := found[k]
			if !ok {
				open = nil
				break
			}
			if r.skipped == "" && !slices.Contains(it.known, r.Language) && !slices.Contains(open, k) {
				open = append(open, k)
			}
		}
		if len(open) > 0 {
			wanted[it.id] = open
		}
	}
	return wanted
}

// nameItems sets the documents of blobs that are completely known, and stores their
// readings, so that the next push does not depend on relatives for them.
func (h *indexRun) nameItems(b *batch, found map[readingKey]reading) {
	for i := range b.items {
		it := &b.items[i]
		if len(it.places) == 0 || it.mustRead {
			continue
		}
		places := it.places
		if h.nameItem(b, it, found); len(it.places) > 0 {
			continue
		}
		for _, p := range places {
			k := h.placeKey(b, it, p)
			b.readings[k] = found[k]
		}
	}
}

// findInRelative calls live for each wanted key for which a ref of the relative contains
// the blob, and removes the key from wanted. It visits at most the given number of
// directories and returns how many it visited.
func (h *indexRun) findInRelative(ctx context.Context, r *relative, wanted map[mirror.ObjectID][]readingKey, most int, live func(mirror.ObjectID, readingKey)) (visited int, err error) {
	indexed, err := indexedCommits(ctx, r.m)
	if err != nil {
		return 0, err
	}
	trees, err := r.m.Trees(ctx)
	if err != nil {
		return 0, err
	}
	defer trees.Close()
	var commits []code.CommitID
	if head := indexed[r.m.AnnouncedDefault()]; head != "" {
		commits = append(commits, head)
	}
	for _, ref := range slices.Sorted(maps.Keys(indexed)) {
		if !slices.Contains(commits, indexed[ref]) {
			commits = append(commits, indexed[ref])
		}
		if len(commits) == maxRelativeCommits {
			break
		}
	}
	return h.walkLive(ctx, trees, commits, most, wanted, live)
}

// maxRelativeCommits bounds the commits of a relative that are searched.
const maxRelativeCommits = 1 << 12

// confirmRelatives returns errFamilyChanged if a relative no longer has the blobs that
// the batch relies on, or if the log contains its removal. The caller must hold the lock
// of the family.
func (h *indexRun) confirmRelatives(ctx context.Context, b *batch) error {
	if len(b.relatives) == 0 {
		return nil
	}
	if err := h.checkRemovals(ctx, b); err != nil {
		return err
	}
	for _, r := range b.relatives {
		if _, doubtful := h.x.partitions.staleSince(h.partition, r.id); doubtful {
			return fmt.Errorf("%w: repository %s is behind the log", errFamilyChanged, r.id)
		}
		if h.x.changesOf(r.id) == r.changes {
			continue
		}
		wanted := map[mirror.ObjectID][]readingKey{}
		for id, keys := range r.used {
			wanted[id] = slices.Clone(keys)
		}
		if _, err := h.findInRelative(ctx, r, wanted, maxWalk, func(mirror.ObjectID, readingKey) {}); err != nil || len(wanted) > 0 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%w: repository %s gave up %d blobs", errFamilyChanged, r.id, len(wanted))
		}
	}
	return nil
}

// checkRemovals looks for the removal of a relative that this process has not handled
// yet. Readers have applied it, and a merge may drop documents that no repository names.
func (h *indexRun) checkRemovals(ctx context.Context, b *batch) error {
	at := b.refs[0].cause.position
	from := h.x.partitions.markedAt(h.partition)
	if from < 0 {
		var err error
		if from, err = h.x.readMark(ctx, at); err != nil {
			return err
		}
	}
	high, err := h.x.o.Log.HighWater(ctx, at.Topic)
	if err != nil {
		return err
	}
	removed := map[code.RepositoryID]bool{}
	end := event.Position{Topic: at.Topic, Partition: at.Partition, Offset: high[at.Partition]}
	_, err = h.x.scanKept(ctx, from, end, 0, func(ev event.Event) { removed[ev.Key()] = true }, event.TypeRepositoryRemoved) // deleted records are handled
	if err != nil {
		return err
	}
	for _, r := range b.relatives {
		if removed[r.id] {
			return fmt.Errorf("%w: repository %s was removed", errFamilyChanged, r.id)
		}
	}
	return nil
}

// retryAlone resets the refs of a batch, so that they can be indexed again without the
// family.
func (h *indexRun) retryAlone(ctx context.Context, b *batch, cause error) error {
	h.alone = true
	h.x.o.Logger.Info("index without the family", "repository_id", h.repo, "refs", len(b.refs), "reason", cause)
	for _, ref := range b.refs {
		ref.changes, ref.overrides, ref.documents, ref.segments = nil, nil, 0, nil
	}
	if err := h.x.deleteUnannounced(ctx, h.m, h.repo, b.refs[0].cause.position); err != nil {
		return err
	}
	return h.m.ClearUnannounced()
}
