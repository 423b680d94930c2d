package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// These are the kinds of differences; see the package comment.
const (
	kindRepository = "repository"
	kindDefault    = "default"
	kindCommit     = "commit"
	kindAbsent     = "absent"
	kindExtra      = "extra"
	kindRemote     = "remote"
	kindBroken     = "broken"
	kindMissing    = "missing"
	kindSurplus    = "surplus"
	kindContent    = "content"
	kindSkipped    = "skipped"
	kindSize       = "size"
	kindCounts     = "counts"
	kindUnheld     = "unheld"
	kindUnstored   = "unstored"
)

// difference is one difference of a ref.
type difference struct {
	ref            code.Ref
	kind           string
	path           string
	count          int
	indexed, found string
}

var messages = map[string]string{
	kindRepository: "is registered, and queries do not know it; run quarry replay",
	kindDefault:    "the default branch is another",
	kindCommit:     "is indexed at a commit other than the one in the mirror",
	kindAbsent:     "was indexed, and queries do not have it",
	kindExtra:      "queries have it, and it was not indexed",
	kindRemote:     "differs from the ref in the remote repository",
	kindBroken:     "its last event could not be applied",
	kindMissing:    "files of the tree are not in the index",
	kindSurplus:    "files of the index are not in the tree",
	kindContent:    "files have another content",
	kindSkipped:    "files are indexed but should be skipped, or are skipped but should be indexed",
	kindSize:       "files have another size",
	kindCounts:     "the numbers of files and skipped files are not those of the manifest",
	kindUnheld:     "files whose text no segment has",
	kindUnstored:   "queries find it, and a rebuild would lose it: objects are missing from the segment store",
}

func (d *difference) newFrame(r code.Repository) *verification.Finding {
	return &verification.Finding{
		Type: verification.Difference, Repository: r.ID, Name: r.Name, Ref: d.ref, Kind: d.kind, Message: messages[d.kind],
		Path: d.path, Count: d.count, Indexed: d.indexed, Found: d.found,
	}
}

// These are the bounds of a comparison during pushes.
const (
	maxRounds  = 10
	roundPause = 200 * time.Millisecond
)

var (
	errMoving = errors.New("its refs change too often to be compared")
	errRemote = errors.New("the repository does not answer")
)

// compareUntilStable compares the refs of a repository until two rounds agree. It returns
// the view of the last round, which the caller must release.
func (x *verifyRun) compareUntilStable(ctx context.Context, r code.Repository, m Mirror) (View, []difference, error) {
	var before []difference
	for round := range maxRounds {
		git, err := x.readGitState(ctx, r, m)
		if err != nil {
			return nil, nil, err
		}
		if err := x.o.Fence(ctx); err != nil {
			return nil, nil, fmt.Errorf("wait for the projections: %w", err)
		}
		view := x.o.Acquire()
		found := compareRefs(view.Repository(r.ID), git)
		if len(found) == 0 || round > 0 && slices.Equal(found, before) {
			return view, found, nil
		}
		view.Release()
		before = found
		if clock.Sleep(ctx, roundPause) != nil {
			return nil, nil, ctx.Err()
		}
	}
	return nil, nil, errMoving
}

// gitState holds the refs of a repository in git.
type gitState struct {
	head code.Ref
	refs map[code.Ref]code.CommitID
	// remote is nil unless the repository was listed.
	remote *mirror.State
}

func (x *verifyRun) readGitState(ctx context.Context, r code.Repository, m Mirror) (gitState, error) {
	s := gitState{refs: map[code.Ref]code.CommitID{}, head: m.AnnouncedDefault()}
	if x.request.Remote {
		remote, err := m.List(ctx, r)
		if err != nil {
			return s, fmt.Errorf("%w: %w", errRemote, err)
		}
		s.remote = &remote
	}
	indexed, err := m.IndexedRevisions(ctx)
	for _, rev := range indexed {
		s.refs[rev.Ref] = rev.Commit
	}
	return s, err
}

// compareRefs returns the differences of refs in order. The default branch comes first,
// because other refs are derived from it.
func compareRefs(indexed *places.Repository, git gitState) []difference {
	if indexed == nil {
		return []difference{{kind: kindRepository}}
	}
	var out []difference
	have := map[code.Ref]code.CommitID{}
	for _, ref := range indexed.Refs {
		have[ref.Ref] = ref.Commit
	}
	is := code.BranchRef(indexed.DefaultBranch)
	if git.head != "" && len(have) > 0 && is != git.head {
		out = append(out, difference{ref: git.head, kind: kindDefault, indexed: is.Short(), found: git.head.Short()})
	}
	out = append(out, compareCommits(have, git.refs, map[bool]string{true: kindExtra, false: kindAbsent}, kindCommit)...)
	if git.remote != nil {
		found := map[code.Ref]code.CommitID{}
		for _, rev := range git.remote.Revisions {
			found[rev.Ref] = rev.Commit
		}
		maps.DeleteFunc(have, func(ref code.Ref, _ code.CommitID) bool { return ref.IsPin() }) // the host has no pins
		out = append(out, compareCommits(have, found, map[bool]string{true: kindRemote, false: kindRemote}, kindRemote)...)
	}
	slices.SortStableFunc(out, func(a, b difference) int {
		if (a.ref == git.head) != (b.ref == git.head) {
			if a.ref == git.head {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.ref, b.ref)
	})
	return out
}

// compareCommits compares refs. only[true] is the kind for refs that exist only in the
// index, only[false] for refs that the index lacks.
func compareCommits(indexed, found map[code.Ref]code.CommitID, only map[bool]string, moved string) []difference {
	var out []difference
	for _, ref := range slices.Sorted(maps.Keys(indexed)) {
		switch is, ok := found[ref]; {
		case !ok:
			out = append(out, difference{ref: ref, kind: only[true], indexed: string(indexed[ref])})
		case is != indexed[ref]:
			out = append(out, difference{ref: ref, kind: moved, indexed: string(indexed[ref]), found: string(is)})
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(found)) {
		if _, ok := indexed[ref]; !ok {
			out = append(out, difference{ref: ref, kind: only[false], found: string(found[ref])})
		}
	}
	return out
}
