package plan

import (
	"cmp"
	"regexp/syntax"
	"slices"

	"github.com/quarrysearch/quarry/projections/postings"
)

// Bounds on derived literals. A class of more than maxClassRunes runes is not expanded
// into literals; a product of choices stops at maxLiterals.
const (
	maxLiterals     = 32
	maxLiteralBytes = 128
	maxClassRunes   = 6
	maxSets         = 16
)

// literalInfo describes the matches of a subexpression.
type literalInfo struct {
	// exact is the set of all texts that it matches, in order of preference; nil if there
	// are too many. The texts are folded if the pattern ignores case.
	exact []string
	// sets are sets of literals; every match contains a member of each.
	sets [][]string
	// asserts is set if exact leaves out an assertion (^, $, \b).
	asserts bool
}

// requiredSets returns the sets that hold for every match, the best first.
func (in literalInfo) requiredSets() [][]string {
	sets := in.sets
	if in.exact != nil && isUsable(in.exact) {
		sets = append(slices.Clone(sets), in.exact)
	}
	slices.SortStableFunc(sets, func(a, b []string) int { return cmp.Compare(setWorth(b), setWorth(a)) })
	return sets[:min(len(sets), maxSets)]
}

// setWorth orders sets by how selective they are: a long shortest literal selects best,
// and few literals cost least.
func setWorth(set []string) int {
	shortest := maxLiteralBytes
	for _, s := range set {
		shortest = min(shortest, len(s))
	}
	return min(shortest, 12)*16 - len(set)
}

func deriveInfo(re *syntax.Regexp, fold bool) literalInfo {
	switch re.Op {
	case syntax.OpNoMatch:
		return literalInfo{}
	case syntax.OpEmptyMatch:
		return literalInfo{exact: []string{""}}
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return literalInfo{exact: []string{""}, asserts: true}
	case syntax.OpLiteral:
		return deriveLiteral(string(re.Rune), fold)
	case syntax.OpCharClass:
		return deriveClass(re.Rune, fold)
	case syntax.OpCapture:
		return deriveInfo(re.Sub[0], fold)
	case syntax.OpConcat:
		return deriveConcat(re.Sub, fold)
	case syntax.OpAlternate:
		return deriveAlternate(re.Sub, fold)
	case syntax.OpQuest:
		return deriveQuest(re, fold)
	case syntax.OpPlus:
		in := deriveInfo(re.Sub[0], fold)
		return literalInfo{sets: in.requiredSets()}
	}
	return literalInfo{} // star, any: nothing is required
}

func deriveLiteral(s string, fold bool) literalInfo {
	if fold {
		s = string(postings.AppendFold(nil, []byte(s)))
	}
	if len(s) > maxLiteralBytes {
		return literalInfo{sets: [][]string{{cutLiteral(s)}}}
	}
	return literalInfo{exact: []string{s}}
}

// prefixesOf returns literals of which every match of a tree begins with one, or nil.
func prefixesOf(re *syntax.Regexp, fold bool) []string {
	prefixes := []string{""}
	for _, sub := range flattenConcat(nil, re) {
		in := deriveInfo(sub, fold)
		product := crossProduct(prefixes, in.exact)
		if in.exact == nil || product == nil {
			break
		}
		prefixes = product
	}
	if !isUsable(prefixes) {
		return nil
	}
	return prefixes
}

// cutLiteral truncates a literal at a rune boundary.
func cutLiteral(s string) string {
	n := maxLiteralBytes
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}

func deriveClass(ranges []rune, fold bool) literalInfo {
	var exact []string
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i+1]-ranges[i] >= maxClassRunes {
			return literalInfo{}
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if r == '�' {
				return literalInfo{} // also matches bytes that are not UTF-8
			}
			s := string(r)
			if fold {
				s = string(postings.AppendFold(nil, []byte(s)))
			}
			if !slices.Contains(exact, s) {
				exact = append(exact, s)
			}
		}
		if len(exact) > maxClassRunes {
			return literalInfo{}
		}
	}
	return literalInfo{exact: exact}
}

// deriveConcat multiplies exact sets while the product stays small. When it grows too
// large, the product so far becomes a required set, and a new one begins.
func deriveConcat(subs []*syntax.Regexp, fold bool) literalInfo {
	out := literalInfo{exact: []string{""}}
	running, whole := []string{""}, true
	flush := func() {
		if isUsable(running) {
			out.sets = append(out.sets, running)
		}
		running, whole = []string{""}, false
	}
	for _, sub := range subs {
		in := deriveInfo(sub, fold)
		out.asserts = out.asserts || in.asserts
		out.sets = append(out.sets, in.sets...)
		if in.exact == nil {
			flush()
			continue
		}
		if product := crossProduct(running, in.exact); product != nil {
			running = product
			continue
		}
		flush()
		running = in.exact
	}
	if whole {
		out.exact = running
		return out
	}
	flush()
	out.exact = nil
	return out
}

// crossProduct returns all a+b, or nil if they are too many or too long.
func crossProduct(a, b []string) []string {
	if len(a)*len(b) > maxLiterals {
		return nil
	}
	out := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if len(x)+len(y) > maxLiteralBytes {
				return nil
			}
			out = append(out, x+y)
		}
	}
	return out
}

// deriveAlternate requires one literal of any branch: the union of the best sets of all
// branches.
func deriveAlternate(subs []*syntax.Regexp, fold bool) literalInfo {
	var exact, either []string
	out := literalInfo{}
	allExact, allRequire := true, true
	for _, sub := range subs {
		in := deriveInfo(sub, fold)
		out.asserts = out.asserts || in.asserts
		if in.exact == nil {
			allExact = false
		}
		exact = append(exact, in.exact...)
		if best := in.requiredSets(); len(best) > 0 {
			either = append(either, best[0]...)
		} else {
			allRequire = false
		}
	}
	if exact = dedupeTexts(exact); allExact && len(exact) <= maxLiterals {
		out.exact = exact
	} else if either = dedupeTexts(either); allRequire && len(either) <= maxLiterals {
		out.sets = [][]string{either}
	}
	return out
}

func dedupeTexts(set []string) []string {
	seen := make(map[string]bool, len(set))
	out := set[:0:0]
	for _, s := range set {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// deriveQuest adds the empty text: last in preference for x?, first for x??.
func deriveQuest(re *syntax.Regexp, fold bool) literalInfo {
	in := deriveInfo(re.Sub[0], fold)
	if in.exact == nil || len(in.exact) >= maxLiterals {
		return literalInfo{}
	}
	if re.Flags&syntax.NonGreedy != 0 {
		return literalInfo{exact: dedupeTexts(append([]string{""}, in.exact...)), asserts: in.asserts}
	}
	return literalInfo{exact: dedupeTexts(append(slices.Clone(in.exact), "")), asserts: in.asserts}
}
