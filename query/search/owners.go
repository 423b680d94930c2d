package search

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Owners of files are those that the CODEOWNERS file of the default branch names, in the
// formats of GitHub and GitLab: the last rule that matches a path decides, in each section.

// ownersPaths are the paths of CODEOWNERS. The first that a repository has counts.
var ownersPaths = []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"}

const (
	// maxOwnersFiles bounds the CODEOWNERS that a predicate reads, and maxOwnersBytes the
	// paths and expressions of the rules that all predicates of a query keep: about 40 times
	// that much memory if all are expressions.
	maxOwnersFiles = 2000
	maxOwnersBytes = 512 << 10
)

// findOwned returns a predicate on owners with the rules that decide it, and adds the costs
// to the request.
func (s *Searcher) findOwned(
	ctx context.Context, view View, r *Request, q *syntax.Owned, left time.Duration,
) (*syntax.Owned, error) {
	found := *q
	found.Known, found.Unfinished = true, true
	if left <= 0 {
		r.predicateStop = StopTimeLimit
		return &found, nil
	}
	deadline := time.Now().Add(left)
	var paths []string
	for _, path := range ownersPaths {
		paths = append(paths, regexp.QuoteMeta(path))
	}
	pattern := "^(?:" + strings.Join(paths, "|") + ")$"
	all := append(repositoryFilters(r.Query.Root), &syntax.File{Pattern: pattern, Case: syntax.CaseYes})
	if q.Owner != "" { // other repositories need not be read
		all = append(all, &syntax.RepoHas{Path: pattern, Content: regexp.QuoteMeta(strings.TrimPrefix(q.Owner, "@")), Case: syntax.CaseNo})
	}
	result, err := s.admitSearch(ctx, view, Request{
		Query:   &syntax.Parsed{Root: &syntax.And{Children: all}},
		Matches: maxOwnersFiles, Whole: true, Public: r.Public, timeLimit: left, WithoutAdvice: true, probes: r.probes,
	}, nil)
	if err != nil {
		return nil, err
	}
	defer result.Release()
	r.predicateCosts.add(&result.Stats)
	if found.Unfinished = result.Stopped != StopNone; found.Unfinished { // files may be left out of an answer that counts all
		r.predicateStop = result.Stopped
	}
	slices.SortFunc(result.Files, func(a, b FileMatch) int {
		return slices.Index(ownersPaths, a.Path) - slices.Index(ownersPaths, b.Path)
	})
	seen := map[*Repository]bool{}
	files := slices.DeleteFunc(result.Files, func(f FileMatch) bool {
		again := seen[f.Repo]
		seen[f.Repo] = true
		return again
	})
	// A repository with many rules must not take the room of all others.
	slices.SortStableFunc(files, func(a, b FileMatch) int { return len(a.Content) - len(b.Content) })
	for i := range files {
		if time.Now().After(deadline) { // rules take longer to read than to find
			found.Unfinished, r.predicateStop = true, StopTimeLimit
			break
		}
		f, bytes := &files[i], 0
		sections := readOwners(string(f.Content), q.Owner)
		for _, section := range sections {
			for _, rule := range section {
				bytes += len(rule.Path) + len(rule.Pattern)
			}
		}
		if r.ownersBytes+bytes > maxOwnersBytes {
			found.Unfinished, r.predicateStop = true, StopByteLimit
			continue
		}
		if r.ownersBytes += bytes; len(sections) > 0 {
			found.Rules = append(found.Rules, syntax.OwnersRules{Repository: f.Repo.ID, Sections: sections})
		}
	}
	return &found, nil
}

// sectionHeader matches the header of a section, and its default owners.
var sectionHeader = regexp.MustCompile(`^\^?\[[^\]]+\](?:\[\d+\])?(.*)$`)

// readOwners returns the rules of a CODEOWNERS file by section, in order, without the
// sections in which no rule names the owner. An empty owner is any.
func readOwners(text, owner string) (sections [][]syntax.OwnersRule) {
	var section []syntax.OwnersRule
	var inherited []string
	end := func() {
		if slices.ContainsFunc(section, func(r syntax.OwnersRule) bool { return r.Owned }) {
			sections = append(sections, section)
		}
		section = nil
	}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
		if m := sectionHeader.FindStringSubmatch(line); m != nil {
			end()
			inherited = strings.Fields(m[1])
			continue
		}
		path, owners := cutOwnersPath(line)
		rule := newOwnersRule(path)
		if rule == (syntax.OwnersRule{}) {
			continue
		}
		names := strings.Fields(owners)
		if len(names) == 0 {
			names = inherited
		}
		rule.Owned = slices.ContainsFunc(names, func(name string) bool {
			return owner == "" || strings.EqualFold(strings.TrimPrefix(name, "@"), strings.TrimPrefix(owner, "@"))
		})
		section = append(section, rule)
	}
	end()
	return sections
}

// cutOwnersPath returns the path of a rule, in which a backslash precedes a blank, and its
// owners.
func cutOwnersPath(line string) (path, owners string) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case ' ', '\t':
			return strings.ReplaceAll(line[:i], `\ `, " "), line[i:]
		}
	}
	return strings.ReplaceAll(line, `\ `, " "), ""
}

// maxOwnersPath bounds the path of a rule that is read.
const maxOwnersPath = 1000

// newOwnersRule returns the rule for a path without its owner: a file, or a directory with all
// below it. It is zero for a comment and what CODEOWNERS does not support. Most paths have no
// wildcard, and need no regular expression, which takes hundreds of times as long if there are
// many.
func newOwnersRule(path string) (rule syntax.OwnersRule) {
	if strings.Trim(path, "/") == "" || len(path) > maxOwnersPath || strings.ContainsAny(path, `![]{}\`) || path[0] == '#' {
		return rule
	}
	if strings.Contains(strings.Trim(path, "/"), "/") {
		path = "/" + strings.TrimPrefix(path, "/") // of the root
	}
	if base, cut := strings.CutSuffix(path, "/**"); cut {
		path = base + "/"
	}
	if strings.ContainsAny(path, "*?") {
		rule.Pattern = ownersPattern(path)
		return rule
	}
	rule.Anywhere, rule.Below = path[0] != '/', strings.HasSuffix(path, "/")
	rule.Path = "/" + strings.TrimLeft(path, "/")
	if !rule.Below {
		rule.Path += "/"
	}
	return rule
}

// ownersPattern returns the regular expression of the path of a rule, or "" if there is none.
func ownersPattern(path string) string {
	pattern, err := syntax.GlobRegexp(path)
	if err != nil {
		return ""
	}
	if !strings.HasSuffix(path, "/") && !strings.HasSuffix(path, "/*") {
		pattern = strings.TrimSuffix(pattern, "$") + "(?:/.*)?$"
	}
	return pattern
}

// isOwned returns the condition on paths that a predicate on owners is. A repository whose
// rules may be missing has no file without the owner: see holdsFor.
func isOwned(q *syntax.Owned, negated bool) func(r *Repository, path []byte) bool {
	rules := make(map[code.RepositoryID]func() ownersMatcher, len(q.Rules))
	for _, r := range q.Rules {
		rules[r.Repository] = sync.OnceValue(func() ownersMatcher { return newOwnersMatcher(r.Sections) })
	}
	return func(r *Repository, path []byte) bool {
		if q.Unfinished && negated {
			return true
		}
		matcher, ok := rules[r.ID]
		return ok && matcher().owns(string(path))
	}
}

// An ownersMatcher decides which paths of a repository have an owner, by section.
type ownersMatcher [][]ownersStep

// ownersStep stands for consecutive rules that agree. The last rules are the first step.
type ownersStep struct {
	owned   bool
	paths   []syntax.OwnersRule
	pattern *regexp.Regexp // nil for none
}

// newOwnersMatcher compiles rules. Each of them compiles, and maxOwnersBytes bounds them;
// those of a faulty front own nothing.
func newOwnersMatcher(sections [][]syntax.OwnersRule) (m ownersMatcher) {
	for _, rules := range sections {
		var steps []ownersStep
		for end := len(rules); end > 0; {
			start := end - 1
			for start > 0 && rules[start-1].Owned == rules[end-1].Owned {
				start--
			}
			step := ownersStep{owned: rules[start].Owned}
			var patterns []string
			for _, r := range rules[start:end] {
				if r.Path != "" {
					step.paths = append(step.paths, r)
				} else {
					patterns = append(patterns, r.Pattern)
				}
			}
			if patterns != nil {
				var err error
				if step.pattern, err = regexp.Compile(strings.Join(patterns, "|")); err != nil {
					return nil
				}
			}
			steps = append(steps, step)
			end = start
		}
		m = append(m, steps)
	}
	return m
}

func (m ownersMatcher) owns(path string) bool {
	whole := "/" + path + "/"
	return slices.ContainsFunc(m, func(steps []ownersStep) bool {
		i := slices.IndexFunc(steps, func(s ownersStep) bool {
			hasPath := slices.ContainsFunc(s.paths, func(r syntax.OwnersRule) bool { return holdsPath(&r, whole) })
			return hasPath || s.pattern != nil && s.pattern.MatchString(path)
		})
		return i >= 0 && steps[i].owned
	})
}

// holdsPath reports whether a rule with a path holds for another one, which has a slash before and
// after it.
func holdsPath(r *syntax.OwnersRule, path string) bool {
	if r.Below {
		path = path[:len(path)-1] // not the directory itself, which would be a file
	}
	return strings.HasPrefix(path, r.Path) || r.Anywhere && strings.Contains(path, r.Path)
}
