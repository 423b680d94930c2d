package indexer

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// maxDerivations bounds the chain of new refs in one import that build on each other. The
// projection of places allows places.MaxDepth ancestors; beyond that it copies the
// manifest.
const maxDerivations = 7

// chooseBases returns refs in the order of their announcement, each with the revision
// that its changes are relative to. A ref that is already indexed builds on its indexed
// commit. A new ref builds on the default branch or on a ref nearby, whichever differs
// least. For this, the new refs are ordered by time: evenly spaced refs come first, then,
// step by step, the refs between them, each of which may build on its neighbors of the
// step before. A ref thus costs a few times the difference to its neighbor, rather than
// the difference to the default branch, and no chain exceeds maxDerivations.
func (h *indexRun) chooseBases(ctx context.Context, pending []*refChange) ([]*refChange, error) {
	var ordered, fresh []*refChange
	for _, ref := range pending {
		done := h.indexed[ref.Ref]
		switch {
		case done != "" && !ref.refresh:
			ref.base = code.Revision{Ref: ref.Ref, Commit: done}
			ordered = append(ordered, ref)
		case ref.Ref == h.head || ref.refresh:
			ref.base = h.announcedDefault(ref.Ref, ordered)
			ordered = append(ordered, ref)
		default:
			fresh = append(fresh, ref)
		}
	}
	if len(fresh) == 0 {
		return ordered, nil
	}
	d := &derivation{h: h, ordered: ordered, root: h.announcedDefault("", ordered)}
	if len(fresh) == 1 {
		fresh[0].base = d.root
		if same, ok := h.refAt(fresh[0].Commit, ordered); ok {
			fresh[0].base = same
		}
		return append(ordered, fresh[0]), nil
	}
	times := make(map[*refChange]time.Time, len(fresh))
	for _, ref := range fresh {
		commit, err := h.trees.Commit(ctx, ref.Commit)
		if err != nil {
			return nil, err
		}
		times[ref] = commit.Time
	}
	slices.SortStableFunc(fresh, func(a, b *refChange) int { return times[a].Compare(times[b]) })
	err := d.orderRefs(ctx, fresh, nil, nil, maxDerivations)
	return d.ordered, err
}

// announcedDefault returns the revision of the default branch that is announced before a
// ref. It may differ from the current default branch, which was then renamed and shares
// most files with the old one. It returns none if there is no such branch, or if it is
// the ref itself.
func (h *indexRun) announcedDefault(ref code.Ref, before []*refChange) code.Revision {
	from := h.m.AnnouncedDefault()
	for _, other := range before {
		if other.Ref == h.head {
			from = h.head
		}
	}
	if from == "" || from == ref {
		return code.Revision{}
	}
	commit := h.indexed[from]
	for _, other := range before {
		if other.Ref == from {
			commit = other.Commit
		}
	}
	if commit == "" {
		return code.Revision{}
	}
	return code.Revision{Ref: from, Commit: commit}
}

// refAt returns a ref that is at the given commit once the refs before are announced.
func (h *indexRun) refAt(commit code.CommitID, before []*refChange) (code.Revision, bool) {
	indexed := maps.Clone(h.indexed)
	for _, other := range before {
		indexed[other.Ref] = other.Commit
	}
	if indexed[h.head] == commit {
		return code.Revision{Ref: h.head, Commit: commit}, true
	}
	var found code.Revision
	for ref, at := range indexed {
		if at == commit && (found.Ref == "" || ref < found.Ref) {
			found = code.Revision{Ref: ref, Commit: commit}
		}
	}
	return found, found.Ref != ""
}

// derivation orders new refs and chooses their bases.
type derivation struct {
	h       *indexRun
	ordered []*refChange
	root    code.Revision
}

// orderRefs orders refs, which are sorted by time and lie between before and after, in at
// most the given number of steps: evenly spaced refs first, then those between them.
func (d *derivation) orderRefs(ctx context.Context, refs []*refChange, before, after *refChange, steps int) error {
	if len(refs) == 0 {
		return nil
	}
	n := len(refs)
	if steps > 1 {
		n = int(math.Ceil(math.Pow(float64(len(refs)), 1/float64(steps))))
	}
	starts := make([]int, 0, n)
	for i := range n {
		at := (2*i + 1) * len(refs) / (2 * n)
		if len(starts) == 0 || at > starts[len(starts)-1] {
			starts = append(starts, at)
		}
	}
	for _, at := range starts {
		if err := d.chooseBase(ctx, refs[at], before, after); err != nil {
			return err
		}
		d.ordered = append(d.ordered, refs[at])
	}
	for i := range len(starts) + 1 {
		from, to, left, right := 0, len(refs), before, after
		if i > 0 {
			from, left = starts[i-1]+1, refs[starts[i-1]]
		}
		if i < len(starts) {
			to, right = starts[i], refs[starts[i]]
		}
		if err := d.orderRefs(ctx, refs[from:to], left, right, steps-1); err != nil {
			return err
		}
	}
	return nil
}

var errFarther = errors.New("another base is nearer")

// chooseBase sets the base of a ref to the candidate from which it differs least.
func (d *derivation) chooseBase(ctx context.Context, ref, before, after *refChange) error {
	d.h.job.report()
	candidates := []code.Revision{d.root}
	for _, other := range []*refChange{before, after} {
		if other != nil {
			candidates = append(candidates, other.Revision)
		}
	}
	if len(candidates) == 1 {
		ref.base = d.root
		return nil
	}
	nearest := math.MaxInt
	for _, c := range candidates {
		if c.Commit == "" {
			continue
		}
		files := 0
		err := d.h.trees.Diff(ctx, c.Commit, ref.Commit, func(string, mirror.Entry, mirror.Entry) error {
			if files++; files >= nearest {
				return errFarther
			}
			return nil
		})
		switch {
		case err == nil:
			nearest, ref.base = files, c
		case errors.Is(err, errFarther), errors.Is(err, mirror.ErrMissing), errors.Is(err, mirror.ErrTooLarge):
		default:
			return err
		}
	}
	return nil
}
