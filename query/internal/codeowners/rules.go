package codeowners

import (
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/syntax"
)

// sectionHeader matches the header of a section, and its default owners.
var sectionHeader = regexp.MustCompile(`^\^?\[[^\]]+\](?:\[\d+\])?(.*)$`)

// ReadRules returns the rules of a CODEOWNERS file by section, in order, without the
// sections in which no rule names the owner. An empty owner is any.
func ReadRules(text, owner string) (sections [][]syntax.OwnersRule) {
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
		path, owners := cutPath(line)
		rule := newRule(path)
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

// cutPath returns the path of a rule, in which a backslash precedes a blank, and its
// owners.
func cutPath(line string) (path, owners string) {
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

// maxPath bounds the path of a rule that is read.
const maxPath = 1000

// newRule returns the rule for a path without its owner: a file, or a directory with all
// below it. It is zero for a comment and what CODEOWNERS does not support. Most paths have no
// wildcard, and need no regular expression, which takes hundreds of times as long if there are
// many.
func newRule(path string) (rule syntax.OwnersRule) {
	if strings.Trim(path, "/") == "" || len(path) > maxPath || strings.ContainsAny(path, `![]{}\`) || path[0] == '#' {
		return rule
	}
	if strings.Contains(strings.Trim(path, "/"), "/") {
		path = "/" + strings.TrimPrefix(path, "/") // of the root
	}
	if base, cut := strings.CutSuffix(path, "/**"); cut {
		path = base + "/"
	}
	if strings.ContainsAny(path, "*?") {
		rule.Pattern = patternOf(path)
		return rule
	}
	rule.Anywhere, rule.Below = path[0] != '/', strings.HasSuffix(path, "/")
	rule.Path = "/" + strings.TrimLeft(path, "/")
	if !rule.Below {
		rule.Path += "/"
	}
	return rule
}

// patternOf returns the regular expression of the path of a rule, or "" if there is none.
func patternOf(path string) string {
	pattern, err := syntax.GlobRegexp(path)
	if err != nil {
		return ""
	}
	if !strings.HasSuffix(path, "/") && !strings.HasSuffix(path, "/*") {
		pattern = strings.TrimSuffix(pattern, "$") + "(?:/.*)?$"
	}
	return pattern
}
