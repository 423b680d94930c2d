package assist

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/codeowners"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// ownersPaths are the paths of CODEOWNERS. The first that a repository has counts.
var ownersPaths = []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"}

const (
	// maxOwnersFiles bounds the CODEOWNERS that a predicate reads, and maxOwnersBytes the
	// paths and expressions of the rules that all predicates of a query keep: about 40 times
	// that much memory if all are expressions.
	maxOwnersFiles = 2000
	maxOwnersBytes = 512 << 10
)

// findOwned returns a predicate on owners with the rules that decide it.
func (p *predicateResolver) findOwned(ctx context.Context, q *syntax.Owned, left time.Duration) (*syntax.Owned, error) {
	found := *q
	found.Known, found.Unfinished = true, true
	if left <= 0 {
		p.stopped = search.StopTimeLimit
		return &found, nil
	}
	deadline := time.Now().Add(left)
	var paths []string
	for _, path := range ownersPaths {
		paths = append(paths, regexp.QuoteMeta(path))
	}
	pattern := "^(?:" + strings.Join(paths, "|") + ")$"
	all := append(syntax.RepositoryFilters(p.request.Query.Root), &syntax.File{Pattern: pattern, Case: syntax.CaseYes})
	if q.Owner != "" { // other repositories need not be read
		all = append(all, &syntax.RepoHas{Path: pattern, Content: regexp.QuoteMeta(strings.TrimPrefix(q.Owner, "@")), Case: syntax.CaseNo})
	}
	result, err := p.answerer.probe(ctx, search.Request{
		Query:   &syntax.Parsed{Root: &syntax.And{Children: all}},
		Matches: maxOwnersFiles, Whole: true, Public: p.request.Public, TimeLimit: left, WithoutAdvice: true,
	}, nil)
	if err != nil {
		return nil, err
	}
	defer result.Release()
	p.costs.Add(&result.Stats)
	if found.Unfinished = result.Stopped != search.StopNone; found.Unfinished { // files may be left out of an answer that counts all
		p.stopped = result.Stopped
	}
	slices.SortFunc(result.Files, func(a, b search.FileMatch) int {
		return slices.Index(ownersPaths, a.Path) - slices.Index(ownersPaths, b.Path)
	})
	seen := map[*corpus.Repository]bool{}
	files := slices.DeleteFunc(result.Files, func(f search.FileMatch) bool {
		again := seen[f.Repo]
		seen[f.Repo] = true
		return again
	})
	// A repository with many rules must not take the room of all others.
	slices.SortStableFunc(files, func(a, b search.FileMatch) int { return len(a.Content) - len(b.Content) })
	for i := range files {
		if time.Now().After(deadline) { // rules take longer to read than to find
			found.Unfinished, p.stopped = true, search.StopTimeLimit
			break
		}
		f, bytes := &files[i], 0
		sections := codeowners.ReadRules(string(f.Content), q.Owner)
		for _, section := range sections {
			for _, rule := range section {
				bytes += len(rule.Path) + len(rule.Pattern)
			}
		}
		if p.ownersBytes+bytes > maxOwnersBytes {
			found.Unfinished, p.stopped = true, search.StopByteLimit
			continue
		}
		if p.ownersBytes += bytes; len(sections) > 0 {
			found.Rules = append(found.Rules, syntax.OwnersRules{Repository: f.Repo.ID, Sections: sections})
		}
	}
	return &found, nil
}
