package repolint

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// MaxOneWordShare is the maximum percentage of functions in a package whose name is one
// lower-case word.
const MaxOneWordShare = 15

// MaxTreeOneWordShare is the maximum percentage of such functions in the whole tree. The
// share was 40 before the functions were renamed; the limit may only get smaller.
const MaxTreeOneWordShare = 2

// minFunctions and minTreeFunctions are the numbers of functions below which a package and a
// tree are too small for a percentage.
const minFunctions, minTreeFunctions = 12, 200

// completeWords are one-word names that are complete with a receiver, or by convention of
// Go.
var completeWords = map[string]bool{
	"main": true, "init": true, "close": true, "next": true, "add": true, "len": true, "run": true, "reset": true,
	"string": true, "read": true, "write": true, "get": true, "put": true, "seek": true, "append": true, "commit": true,
	"flush": true, "stop": true, "start": true, "parse": true, "encode": true, "decode": true, "validate": true,
	"apply": true, "open": true, "size": true, "count": true, "contains": true, "delete": true, "insert": true,
	"lookup": true, "less": true, "swap": true, "lock": true, "unlock": true, "wait": true, "push": true, "pop": true,
}

// vagueWords are prepositions, adverbs and participles, which do not name an action.
var vagueWords = map[string]bool{
	"of": true, "by": true, "with": true, "in": true, "on": true, "at": true, "to": true, "from": true, "for": true,
	"within": true, "beside": true, "behind": true, "above": true, "below": true, "under": true, "over": true,
	"after": true, "before": true, "since": true, "until": true, "than": true, "as": true, "into": true, "without": true,
	"gone": true, "told": true, "held": true, "left": true, "lost": true, "known": true, "taken": true, "given": true,
	"seen": true, "said": true, "done": true, "shown": true, "meant": true, "kept": true, "sent": true, "found": true,
	"whole": true, "together": true, "here": true, "there": true, "again": true, "anew": true, "apart": true,
}

// nounsInED end like participles but are not.
var nounsInED = map[string]bool{
	"bed": true, "embed": true, "exceed": true, "feed": true, "need": true, "proceed": true, "seed": true, "speed": true,
}

var (
	oneWord    = regexp.MustCompile(`^[a-z]+$`)
	participle = regexp.MustCompile(`^[a-z]{2,}ed$`)
)

// oddWords are words that make comments sound translated.
var oddWords = regexp.MustCompile(`(?i)\b(told|untold|anew|beside|nobody|who asks|no good|for ever|of its own|what waits|dear|hitherto|therein|thereof|whom)\b`)

// countNames returns the number of functions of a package and of those with a one-word name.
func countNames(p *Package) (functions, short int) {
	for _, f := range p.Files {
		if ast.IsGenerated(f.Syntax) {
			continue
		}
		for _, decl := range f.Syntax.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok {
				functions++
				if oneWord.MatchString(d.Name.Name) && !completeWords[d.Name.Name] {
					short++
				}
			}
		}
	}
	return functions, short
}

// checkTreeNames reports a tree with too many one-word names.
func (t *Tree) checkTreeNames() []Finding {
	functions, short := 0, 0
	for _, p := range t.Packages {
		n, s := countNames(p)
		functions, short = functions+n, short+s
	}
	if functions < minTreeFunctions || short*100 <= functions*MaxTreeOneWordShare {
		return nil
	}
	return []Finding{{Rule: "names", Where: ".", What: fmt.Sprintf("more than %d %% of the functions of the tree are named by one word", MaxTreeOneWordShare)}}
}

// checkNames reports functions whose names are not actions, and packages with too many
// one-word names.
func (t *Tree) checkNames(p *Package) []Finding {
	var findings []Finding
	functions, short := countNames(p)
	for _, f := range p.Files {
		if ast.IsGenerated(f.Syntax) {
			continue
		}
		for _, decl := range f.Syntax.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := d.Name.Name
			if vagueWords[name] || participle.MatchString(name) && !nounsInED[name] {
				findings = append(findings, Finding{Rule: "names", Where: f.Name, What: name + " is no verb with its object", Line: t.lineNumber(d.Pos())})
			}
		}
	}
	if functions >= minFunctions && short*100 > functions*MaxOneWordShare {
		findings = append(findings, Finding{Rule: "names", Where: p.Path,
			What: fmt.Sprintf("more than %d %% of the functions are named by one word", MaxOneWordShare)})
	}
	return findings
}

// checkWords reports comments that contain words that engineers of the field do not use.
func (t *Tree) checkWords(p *Package) []Finding {
	var findings []Finding
	for _, f := range slices.Concat(p.Files, p.TestFiles) {
		if ast.IsGenerated(f.Syntax) {
			continue
		}
		for _, group := range f.Syntax.Comments {
			for _, c := range group.List {
				for _, word := range oddWords.FindAllString(c.Text, -1) {
					findings = append(findings, Finding{Rule: "words", Where: f.Name, What: "a comment says " + strings.ToLower(word), Line: t.lineNumber(c.Pos())})
				}
			}
		}
	}
	return findings
}
