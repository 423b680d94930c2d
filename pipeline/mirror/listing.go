package mirror

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// State is the result of a full fetch.
type State struct {
	// Default is the default branch; empty if the repository has no commits.
	Default code.Ref
	// Revisions are the default branch, first, and the other selected refs by name, at
	// most Options.MaxRefs.
	Revisions []code.Revision
	// Selection counts the refs, and names those that are selected but not in Revisions.
	Selection Selection

	leftOut map[code.Ref]bool
}

// LeavesOut reports whether a ref is selected but missing from Revisions, because
// Options.MaxRefs other refs have newer commits.
func (s *State) LeavesOut(ref code.Ref) bool { return s.leftOut[ref] }

// IsSelected reports whether ref is the default branch, or matches one of the
// repository's globs for branches or tags.
func IsSelected(r code.Repository, defaultRef, ref code.Ref) bool {
	return ref == defaultRef || slices.ContainsFunc(globsFor(r, ref), func(glob string) bool { return MatchGlob(glob, ref.Short()) })
}

// globsFor returns the globs for refs of the same kind as ref.
func globsFor(r code.Repository, ref code.Ref) []string {
	switch {
	case ref.IsBranch():
		return r.Branches
	case ref.IsTag():
		return r.Tags
	}
	return nil
}

// listing is the set of refs that a repository reports.
type listing struct {
	// refs are the branches and, if they were listed, the tags.
	refs map[code.Ref]code.CommitID
	// unsupported are the other branches and tags, with the reason why each cannot be
	// indexed.
	unsupported map[code.Ref]error
	// head is the target of HEAD: a branch, or "" if HEAD is detached or the host does
	// not report it.
	head code.Ref
	// headCommit is the commit of HEAD; empty if there is none.
	headCommit code.CommitID
	format     string
}

func newListing(format string) listing {
	return listing{refs: make(map[code.Ref]code.CommitID), unsupported: make(map[code.Ref]error), format: format}
}

func (l *listing) addRef(ref code.Ref, id code.CommitID) {
	if err := ref.Validate(); err != nil {
		l.unsupported[ref] = err
		return
	}
	l.refs[ref] = id
}

// selectState selects the refs of l to index.
func (l listing) selectState(r code.Repository) (State, error) {
	unsupported := l.selectUnsupported(r)
	if l.headCommit == "" && !l.hasBranches() && len(unsupported) == 0 {
		return State{}, nil
	}
	def := l.defaultBranch(r)
	switch {
	case def == "" && len(unsupported) > 0:
		return State{}, fmt.Errorf("%w: %s", ErrNoDefaultBranch, unsupported[0].Reason)
	case def == "":
		return State{}, ErrNoDefaultBranch
	}
	s := State{Default: def}
	for ref, commit := range l.refs {
		if IsSelected(r, def, ref) {
			s.Revisions = append(s.Revisions, code.Revision{Ref: ref, Commit: commit})
		}
	}
	sortRevisions(s.Revisions, def)
	s.Selection = l.countSelection(r, s)
	s.Selection.Unsupported = len(unsupported)
	s.Selection.UnsupportedRefs = unsupported[:min(len(unsupported), MaxLeftOutRefs)]
	return s, nil
}

// selectUnsupported returns the refs that would be selected if they could be indexed, in
// order of name. HEAD is one of them.
func (l listing) selectUnsupported(r code.Repository) []UnsupportedRef {
	var refs []UnsupportedRef
	for _, ref := range slices.Sorted(maps.Keys(l.unsupported)) {
		if IsSelected(r, l.head, ref) || ref == code.BranchRef(r.DefaultBranch) {
			refs = append(refs, UnsupportedRef{Ref: code.SpellPath(string(ref)), Reason: l.unsupported[ref].Error()})
		}
	}
	return refs
}

func (l listing) hasBranches() bool {
	for ref := range l.refs {
		if ref.IsBranch() {
			return true
		}
	}
	return false
}

// sortRevisions puts the default branch first, and the others in order of name.
func sortRevisions(revisions []code.Revision, def code.Ref) {
	slices.SortFunc(revisions, func(a, b code.Revision) int {
		if (a.Ref == def) != (b.Ref == def) {
			if a.Ref == def {
				return -1
			}
			return 1
		}
		return strings.Compare(string(a.Ref), string(b.Ref))
	})
}

// defaultBranch returns the registered default branch if it exists; otherwise the target
// of HEAD; otherwise, with a detached HEAD, a branch at the same commit; then main, then
// master.
func (l listing) defaultBranch(r code.Repository) code.Ref {
	candidates := []code.Ref{code.BranchRef(r.DefaultBranch), l.head}
	if l.head == "" && l.headCommit != "" {
		candidates = append(candidates, l.branchesAt(l.headCommit)...)
	}
	candidates = append(candidates, "refs/heads/main", "refs/heads/master")
	for _, ref := range candidates {
		if _, ok := l.refs[ref]; ok && ref.IsBranch() {
			return ref
		}
	}
	return ""
}

// branchesAt returns the branches at commit: main and master first, then by name.
func (l listing) branchesAt(commit code.CommitID) []code.Ref {
	var refs []code.Ref
	for ref, c := range l.refs {
		if c == commit && ref.IsBranch() {
			refs = append(refs, ref)
		}
	}
	rank := func(r code.Ref) int { return slices.Index([]string{"", "master", "main"}, r.Short()) }
	slices.SortFunc(refs, func(a, b code.Ref) int {
		if d := rank(b) - rank(a); d != 0 {
			return d
		}
		return strings.Compare(string(a), string(b))
	})
	return refs
}

// MatchGlob reports whether name matches glob: * matches any run within an element of the
// name, ** any run at all, ? one character other than a slash. Everything else matches
// itself. It takes time O(len(glob) × len(name)).
func MatchGlob(glob, name string) bool {
	// reached[i]: the glob processed so far matches name[:i].
	reached := make([]bool, len(name)+1)
	reached[0] = true
	for len(glob) > 0 {
		next := make([]bool, len(name)+1)
		switch {
		case strings.HasPrefix(glob, "*"):
			double := strings.HasPrefix(glob, "**")
			for i := range next {
				next[i] = reached[i] || i > 0 && next[i-1] && (double || name[i-1] != '/')
			}
			glob = strings.TrimLeft(glob, "*")
		default:
			for i := 1; i < len(next); i++ {
				next[i] = reached[i-1] && (glob[0] == name[i-1] || glob[0] == '?' && name[i-1] != '/')
			}
			glob = glob[1:]
		}
		reached = next
	}
	return reached[len(name)]
}
