package indexer

import (
	"context"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// maxLoggedRefs bounds the refs in one log line.
const maxLoggedRefs = 10

// noteSelection stores, counts and logs which refs of a repository are selected.
func (x *Indexer) noteSelection(m *mirror.Mirror, r code.Repository, s *mirror.Selection) error {
	if s.Branches == (mirror.Count{}) && s.Tags == (mirror.Count{}) {
		return m.SaveSelection(mirror.Selection{}) // the repository has no commits
	}
	for _, u := range s.Unmatched {
		x.o.Logger.Warn("glob selects no ref", "repository", r.Name, "repository_id", r.ID, "glob", u.Glob, "tag", u.Tag, "near", u.Near)
	}
	if s.LeftOut > 0 {
		x.metrics.leftOut.Add(float64(s.LeftOut))
		x.o.Logger.Warn("refs left out because more are selected than pipeline.maxRefs", "repository", r.Name, "repository_id", r.ID,
			"selected", s.Branches.Selected+s.Tags.Selected, "limit", s.Limit, "left_out", s.LeftOut, "newest_left_out", s.LeftOutRefs[:min(len(s.LeftOutRefs), maxLoggedRefs)])
	}
	for _, u := range s.UnsupportedRefs[:min(len(s.UnsupportedRefs), maxLoggedRefs)] {
		x.o.Logger.Warn("ref cannot be indexed", "repository", r.Name, "repository_id", r.ID, "ref", u.Ref, "reason", u.Reason)
	}
	return m.SaveSelection(*s)
}

// exceedsLimit reports whether the pushed refs would raise the number of indexed refs
// above the limit.
func (x *Indexer) exceedsLimit(ctx context.Context, m *mirror.Mirror, wanted []*pushedRef) (bool, error) {
	fresh := 0
	for _, of := range wanted {
		if done, err := m.IndexedCommit(ctx, of.ref); err == nil && done == "" {
			fresh++
		}
	}
	if fresh == 0 {
		return false, nil
	}
	indexed, err := m.IndexedRevisions(ctx)
	indexed = slices.DeleteFunc(indexed, func(rev code.Revision) bool { return rev.Ref.IsPin() }) // the limit does not count them
	return len(indexed)+fresh > x.o.Mirrors.MaxRefs(), err
}
