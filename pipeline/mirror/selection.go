package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/spelling"
)

// Bounds of a Selection.
const (
	// MaxLeftOutRefs bounds the left-out refs that a Selection names.
	MaxLeftOutRefs = 1000
	// maxNearRefs bounds the suggestions for a glob that selects nothing, maxComparedRefs
	// the refs compared with it, and maxAdvisedGlobs the globs that get suggestions.
	maxNearRefs     = 3
	maxAdvisedGlobs = 8
	maxComparedRefs = 20_000
	// maxDescribedRefs bounds the unsupported refs in the line of Selection.String.
	maxDescribedRefs = 3
)

// A Selection describes how many refs of a repository its globs select.
type Selection struct {
	Branches Count `json:"branches"`
	// Tags is zero unless tags are selected.
	Tags Count `json:"tags"`
	// Unmatched are the globs that select nothing.
	Unmatched []UnmatchedGlob `json:"unmatched,omitempty"`
	// Limit is Options.MaxRefs. LeftOut counts the selected refs beyond it, and
	// LeftOutRefs names the first MaxLeftOutRefs of them, newest commit first.
	Limit       int        `json:"limit"`
	LeftOut     int        `json:"leftOut,omitempty"`
	LeftOutRefs []code.Ref `json:"leftOutRefs,omitempty"`
	// Unsupported counts the refs that the globs select or HEAD names and that Quarry does
	// not index, because of their names or because they name no commit; UnsupportedRefs are
	// the first MaxLeftOutRefs of them, in each group by name.
	Unsupported     int              `json:"unsupported,omitempty"`
	UnsupportedRefs []UnsupportedRef `json:"unsupportedRefs,omitempty"`
	// Shallow reports whether commits of the mirror lack their parents, because the
	// repository is a shallow clone.
	Shallow bool `json:"shallow,omitempty"`
	// Partial reports whether the repository is a partial clone on this machine, which
	// lacks objects until git needs them. The mirror lacks them, too.
	Partial bool `json:"partial,omitempty"`
}

// An UnsupportedRef is a ref that git accepts and Quarry does not index.
type UnsupportedRef struct {
	// Ref is the full name, spelled by code.SpellPath.
	Ref    string `json:"ref"`
	Reason string `json:"reason"`
}

// A Count describes how many of the refs of one kind are selected.
type Count struct {
	// Selected includes the default branch and the refs beyond the limit.
	Selected int `json:"selected"`
	Total    int `json:"total"`
	// Wider is the number that would be selected if each * were **.
	Wider int `json:"wider"`
}

// An UnmatchedGlob is a glob that selects nothing.
type UnmatchedGlob struct {
	Glob string `json:"glob"`
	Tag  bool   `json:"tag,omitempty"`
	// Near are suggestions: names of refs, or globs that select some.
	Near []string `json:"near,omitempty"`
}

// String returns a line such as "237 of 3,175 branches; ** takes all".
func (s Selection) String() string {
	parts := []string{s.Branches.describeCount("branch", "branches")}
	if s.Tags != (Count{}) {
		parts = append(parts, s.Tags.describeCount("tag", "tags"))
	}
	for _, u := range s.Unmatched {
		parts = append(parts, u.describeGlob())
	}
	if s.LeftOut > 0 {
		parts = append(parts, fmt.Sprintf("%s are left out: at most %s are indexed, those with the newest commits (pipeline.maxRefs)", formatThousands(s.LeftOut), formatThousands(s.Limit)))
	}
	if s.Unsupported > 0 {
		parts = append(parts, fmt.Sprintf("cannot be indexed: %s", formatThousands(s.Unsupported)))
	}
	for _, u := range s.UnsupportedRefs[:min(len(s.UnsupportedRefs), maxDescribedRefs)] {
		parts = append(parts, u.Reason)
	}
	if s.Shallow {
		parts = append(parts, "the history is cut: the repository is a shallow clone")
	}
	if s.Partial {
		parts = append(parts, "files may be missing: the repository is a partial clone; git fetch --refetch --no-filter in it fetches them")
	}
	return strings.Join(parts, "; ")
}

func (c Count) describeCount(one, many string) string {
	noun := many
	if c.Total == 1 {
		noun = one
	}
	out := fmt.Sprintf("%s of %s %s", formatThousands(c.Selected), formatThousands(c.Total), noun)
	switch {
	case c.Wider <= c.Selected:
	case c.Wider == c.Total:
		out += "; ** takes all"
	default:
		out += fmt.Sprintf("; ** in place of * takes %s", formatThousands(c.Wider))
	}
	return out
}

func (u UnmatchedGlob) describeGlob() string {
	noun := "branch"
	if u.Tag {
		noun = "tag"
	}
	out := fmt.Sprintf("%q selects no %s", u.Glob, noun)
	if len(u.Near) > 0 {
		out += "; near are " + strings.Join(u.Near, ", ")
	}
	return out
}

// formatThousands formats a number with commas.
func formatThousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// dropRef removes a selected ref from the counts, because it names no commit.
func (s *Selection) dropRef(ref code.Ref) {
	s.addCommitless(ref)
	c := &s.Branches
	if ref.IsTag() {
		c = &s.Tags
	}
	c.Selected, c.Total, c.Wider = c.Selected-1, c.Total-1, c.Wider-1
}

// addCommitless adds a ref that names no commit to the unsupported ones.
func (s *Selection) addCommitless(ref code.Ref) {
	if s.Unsupported++; len(s.UnsupportedRefs) < MaxLeftOutRefs {
		s.UnsupportedRefs = append(s.UnsupportedRefs, UnsupportedRef{
			Ref: code.SpellPath(string(ref)), Reason: fmt.Sprintf("ref %.80q names a tree or a file, and no commit: it is not indexed", string(ref)),
		})
	}
}

// countSelection counts the refs of l that the globs of r select.
func (l listing) countSelection(r code.Repository, s State) Selection {
	selected := make(map[code.Ref]bool, len(s.Revisions))
	for _, rev := range s.Revisions {
		selected[rev.Ref] = true
	}
	wide := code.Repository{Branches: widenGlobs(r.Branches), Tags: widenGlobs(r.Tags)}
	var out Selection
	for ref := range l.refs {
		c := &out.Branches
		if ref.IsTag() {
			c = &out.Tags
		}
		c.Total++
		switch {
		case selected[ref]:
			c.Selected++
			c.Wider++
		case IsSelected(wide, "", ref):
			c.Wider++
		}
	}
	out.checkGlobs(l, r.Branches, false)
	out.checkGlobs(l, r.Tags, true)
	return out
}

// checkGlobs records the globs that select nothing.
func (s *Selection) checkGlobs(l listing, globs []string, tags bool) {
	if len(globs) == 0 {
		return
	}
	var names []string
	for ref := range l.refs {
		if ref.IsTag() == tags {
			names = append(names, ref.Short())
		}
	}
	slices.Sort(names)
	for _, glob := range globs {
		if slices.ContainsFunc(names, func(name string) bool { return MatchGlob(glob, name) }) {
			continue
		}
		u := UnmatchedGlob{Glob: glob, Tag: tags}
		if len(s.Unmatched) < maxAdvisedGlobs {
			u.Near = nearGlobs(glob, names[:min(len(names), maxComparedRefs)])
		}
		s.Unmatched = append(s.Unmatched, u)
	}
}

// widenGlobs returns globs that select more, with each * replaced by **.
func widenGlobs(globs []string) []string {
	var out []string
	for _, glob := range globs {
		if wide := widenGlob(glob); wide != glob {
			out = append(out, wide)
		}
	}
	return out
}

func widenGlob(glob string) string {
	return strings.ReplaceAll(strings.ReplaceAll(glob, "**", "*"), "*", "**")
}

// nearGlobs returns suggestions for a glob that selects none of names: the glob with **
// in place of *, globs on directories of names with a similar spelling, or names.
func nearGlobs(glob string, names []string) []string {
	if wide := widenGlob(glob); slices.ContainsFunc(names, func(name string) bool { return MatchGlob(wide, name) }) {
		return []string{wide}
	}
	literal := glob
	if i := strings.IndexAny(glob, "*?"); i >= 0 {
		literal = glob[:i]
		if near := spelling.Nearest(strings.TrimSuffix(literal, "/")+"/*", slices.Values(directoryGlobs(names)), maxNearRefs); len(near) > 0 {
			return near
		}
	}
	if near := spelling.Nearest(literal, slices.Values(names), maxNearRefs); len(near) > 0 || literal == "" {
		return near
	}
	var near []string
	for _, name := range names {
		if len(near) < maxNearRefs && strings.Contains(name, literal) {
			near = append(near, name)
		}
	}
	return near
}

// directoryGlobs returns a glob for each directory in names, which must be sorted.
func directoryGlobs(names []string) []string {
	var globs []string
	for _, name := range names {
		if i := strings.LastIndexByte(name, '/'); i >= 0 {
			globs = append(globs, name[:i+1]+"*")
		}
	}
	return slices.Compact(globs)
}

// keepFirst keeps at most most revisions, by name only, because their commits are
// unknown.
func (s State) keepFirst(most int) State {
	s.Selection.Limit = most
	if len(s.Revisions) <= most {
		return s
	}
	s.leaveOut(s.Revisions[most:])
	s.Revisions = s.Revisions[:most]
	return s
}

// leaveOut records refs that are selected but not indexed.
func (s *State) leaveOut(revisions []code.Revision) {
	s.leftOut = make(map[code.Ref]bool, len(revisions))
	for _, rev := range revisions {
		s.leftOut[rev.Ref] = true
		if len(s.Selection.LeftOutRefs) < MaxLeftOutRefs {
			s.Selection.LeftOutRefs = append(s.Selection.LeftOutRefs, rev.Ref)
		}
	}
	s.Selection.LeftOut = len(revisions)
}

// limitRefs keeps the default branch and, up to Options.MaxRefs, the refs with the newest
// commits by committer time. A commit that the mirror lacks counts as newer than all
// others.
func (m *Mirror) limitRefs(ctx context.Context, s State) (State, error) {
	most := m.ms.o.MaxRefs
	s.Selection.Shallow = m.isShallow()
	if len(s.Revisions) <= most {
		return s.keepFirst(most), nil
	}
	times, err := m.commitTimes(ctx, s.Revisions)
	if err != nil {
		return State{}, err
	}
	slices.SortFunc(s.Revisions, func(a, b code.Revision) int {
		switch {
		case a.Ref == s.Default:
			return -1
		case b.Ref == s.Default:
			return 1
		}
		return cmp.Or(cmp.Compare(times[b.Commit], times[a.Commit]), strings.Compare(string(a.Ref), string(b.Ref)))
	})
	s = s.keepFirst(most)
	s.Revisions = slices.Clone(s.Revisions)
	sortRevisions(s.Revisions, s.Default)
	return s, nil
}

// commitTimes returns the committer times, in seconds, of the commits of revisions.
func (m *Mirror) commitTimes(ctx context.Context, revisions []code.Revision) (map[code.CommitID]int64, error) {
	reader, err := m.Reader(ctx)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	times := make(map[code.CommitID]int64, len(revisions))
	for _, rev := range revisions {
		if _, known := times[rev.Commit]; known {
			continue
		}
		c, err := reader.commit(ctx, string(rev.Commit))
		switch {
		case err == nil:
			times[rev.Commit] = c.Time.Unix()
		case errors.Is(err, ErrMissing):
			times[rev.Commit] = math.MaxInt64
		default:
			return nil, err
		}
	}
	return times, nil
}

// peelKnown replaces the tag objects of a state by their commits, if the mirror has them,
// and omits tags of something other than a commit.
func (m *Mirror) peelKnown(ctx context.Context, s State) (State, error) {
	tags := map[code.Ref]code.CommitID{}
	for _, rev := range s.Revisions {
		if rev.Ref.IsTag() {
			tags[rev.Ref] = rev.Commit
		}
	}
	all := maps.Clone(tags)
	if _, err := m.peelTags(ctx, tags); err != nil {
		return s, err
	}
	revisions := s.Revisions[:0]
	for _, rev := range s.Revisions {
		if _, isTag := all[rev.Ref]; isTag {
			commit, ok := tags[rev.Ref]
			if !ok {
				s.Selection.dropRef(rev.Ref)
				continue
			}
			rev.Commit = commit
		}
		revisions = append(revisions, rev)
	}
	s.Revisions = revisions
	return s, nil
}

// selectionName is a file next to the mirror.
const selectionName = "selection.json"

// SaveSelection stores the selection of the last listing of all refs.
func (m *Mirror) SaveSelection(s Selection) error {
	return m.saveValue(selectionName, s)
}

// Selection returns the value stored by SaveSelection; false if nothing is stored.
func (m *Mirror) Selection() (s Selection, ok bool) {
	err := m.loadValue(selectionName, &s)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.ms.o.Logger.Warn("cannot read which refs of a repository are selected", "repository_id", m.id, "error", err)
	}
	return s, err == nil
}
