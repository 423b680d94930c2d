package codeowners

import (
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/syntax"
)

// A Matcher decides which paths of a repository have an owner, by section.
type Matcher [][]step

// step stands for consecutive rules that agree. The last rules are the first step.
type step struct {
	owned   bool
	paths   []syntax.OwnersRule
	pattern *regexp.Regexp // nil for none
}

// NewMatcher compiles rules. Each of them compiles, and their reader bounds them; those of a
// faulty front own nothing.
func NewMatcher(sections [][]syntax.OwnersRule) (m Matcher) {
	for _, rules := range sections {
		var steps []step
		for end := len(rules); end > 0; {
			start := end - 1
			for start > 0 && rules[start-1].Owned == rules[end-1].Owned {
				start--
			}
			last := step{owned: rules[start].Owned}
			var patterns []string
			for _, r := range rules[start:end] {
				if r.Path != "" {
					last.paths = append(last.paths, r)
				} else {
					patterns = append(patterns, r.Pattern)
				}
			}
			if patterns != nil {
				var err error
				if last.pattern, err = regexp.Compile(strings.Join(patterns, "|")); err != nil {
					return nil
				}
			}
			steps = append(steps, last)
			end = start
		}
		m = append(m, steps)
	}
	return m
}

// Owns reports whether a path has the owner.
func (m Matcher) Owns(path string) bool {
	whole := "/" + path + "/"
	return slices.ContainsFunc(m, func(steps []step) bool {
		i := slices.IndexFunc(steps, func(s step) bool {
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
