package search

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/internal/identifier"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Weights of the score of a file. docs/ranking.md explains them.
const (
	scoreDefinition     = 1000 // a match is the whole name of a symbol, by its kind
	scoreDefinitionFold = 0.75 // of that, in another letter case
	scoreDefinitionPart = 0.15 // of that, if the match is some of the words of the name
	scoreDefinitionBit  = 0.05 // of that, if the match cuts words of the name
	scoreWholeWord      = 300
	scoreWordPart       = 60 // a match consists of whole words of an identifier
	scoreExactCase      = 60
	scoreString         = 120 // a match is an entire string
	scoreLineStart      = 60  // a match is the first word of its line
	scoreFrequency      = 150
	scorePhrase         = 900
	scoreLine           = 500
	scoreLines3         = 300
	scoreRegion         = 120
	scoreFileName       = 300 // the file is named like a term
	scoreFileNamePart   = 80
	scoreDepth          = -3 // for each directory of the path
	scoreTest           = -150
	scoreVendored       = -120
	scoreGenerated      = -150
	scoreProse          = -100
	scoreArchived       = -60
	scoreFork           = -30
	scoreRecent         = 0.5 // per year of the last push after scoreRecentSince; does not depend on the clock
	scoreRecentSince    = 2000
	maxScoreRecent      = 20

	maxScoredDepth  = 20
	maxScoredRanges = 256
)

// kindWeights are the weights of definitions by symbol kind, in the vocabulary of
// universal-ctags. Other kinds have kindOther.
var kindWeights = map[code.SymbolKind]float64{
	"class": 1, "struct": 1, "interface": 1, "type": 1, "trait": 1, "enum": 1, "union": 1, "typedef": 0.97, "object": 1, "record": 1, "protocol": 1,
	"function": 1, "func": 1, "method": 0.95, "macro": 0.9, "constructor": 0.8, "subroutine": 1, "procedure": 1, "generator": 1, "annotation": 1,
	"module": 0.7, "namespace": 0.5, "package": 0.5, "constant": 0.8, "variable": 0.6, "property": 0.6, "enumerator": 0.7,
	"rpc": 0.95, "callback": 0.9, "task": 0.95, "contract": 1, "message": 1, "service": 1, "actor": 1, "mixin": 1, "entity": 1, "table": 1, "view": 1,
	"extension": 0.6, "category": 0.6, "target": 0.7, "test": 0.5, "key": 0.35,
	"field": 0.45, "member": 0.45, "prototype": 0.6, "externvar": 0.4, "local": 0.2, "parameter": 0.2, "label": 0.2, "implementation": 0.6, "anonMember": 0.3,
}

const kindOther = 0.5

// weightOf returns the weight of a definition of a kind.
func weightOf(kind code.SymbolKind) float64 {
	if weight, ok := kindWeights[kind]; ok {
		return weight
	}
	return kindOther
}

// minDefinedWeight is the minimum weight of kinds whose definition people look for by
// name: functions, types and variables, but not keys and fields, which repeat a name that
// is defined elsewhere in another style.
const minDefinedWeight = 0.6

// A scorer accumulates the score of a file.
type scorer struct {
	f       *FileMatch
	explain bool
}

func (s *scorer) add(points float64, reason string) {
	if points == 0 {
		return
	}
	s.f.Score += points
	if s.explain {
		s.f.Reasons = append(s.f.Reasons, fmt.Sprintf("%+.4g %s", points, reason))
	}
}

// scoreFile sets the score of a file from its matches and its place.
func (r *renderer) scoreFile(f *FileMatch, h *hit, flags code.Flags) {
	s := &scorer{f: f, explain: r.run.plan.request.Explain}
	r.scoreMatches(s, h)
	s.add(scoreFrequency*float64(h.frequency), "frequency relative to length")
	s.add(nearScores[h.near], nearReasons[h.near])
	if r.run.plan.scope.ranker != nil {
		s.add(float64(h.points), "words in the text and the path")
	} else {
		s.add(float64(h.points), "explains the message")
	}
	r.scoreName(s)
	r.scorePlace(s, flags)
	r.scoreRepository(s)
}

var nearReasons = [...]string{
	nearRegion: "terms within ten lines", nearLines3: "terms within three lines", nearLine: "terms on one line",
	nearPhrase: "terms exactly as written",
}

// scoreMatches scores matches by whether they are definitions, whole words, and in the
// letter case of the query.
func (r *renderer) scoreMatches(s *scorer, h *hit) {
	terms := r.run.plan.scope.c.literals
	best, own, seen := 0.0, 0.0, 0
	var defined *code.Symbol
	var words, parts, exact uint64
	for i := range s.f.Chunks {
		c := &s.f.Chunks[i]
		for j := range c.Ranges {
			if seen++; seen > maxScoredRanges {
				break
			}
			start, end := c.Ranges[j].Start.ByteOffset-c.Start.ByteOffset, c.Ranges[j].End.ByteOffset-c.Start.ByteOffset
			term := termOf(terms, c.Content[start:end])
			if term.exact {
				exact |= 1 << term.number
			}
			if identifier.IsWholeWord(c.Content, start, end) {
				words |= 1 << term.number
				own = max(own, wholeValuePoints(c.Content, start, end))
			} else if identifier.IsWordPart(c.Content, start, end) {
				parts |= 1 << term.number
			}
			if len(c.Symbols) > 0 && c.Symbols[j] != nil {
				cuts := !identifier.IsWordPart(c.Content, start, end)
				r.definesMatch = r.definesMatch || end-start == len(c.Symbols[j].Name) && kindWeights[c.Symbols[j].Kind] >= minDefinedWeight
				if points := r.definitionPoints(h, c.Symbols[j], c.Ranges[j], term, cuts); points > best {
					best, defined = points, c.Symbols[j]
				}
			}
		}
	}
	if defined != nil {
		s.add(best, "definition of "+string(defined.Kind)+" "+defined.Name)
	}
	n := float64(max(len(terms), 1))
	s.add(scoreWholeWord*float64(min(countOnes(words), int(n)))/n, "whole words")
	s.add(scoreWordPart*float64(min(countOnes(parts&^words), int(n)))/n, "words of identifiers")
	if own /= n; defined == nil {
		s.add(own, "a complete string or line")
	}
	s.add(scoreExactCase*float64(min(countOnes(exact), int(n)))/n, "letter case")
}

// definitionPoints returns the score of a match on the name of a symbol. One of several
// terms counts little unless the other terms are also there. cuts means that the match
// begins or ends inside a word.
func (r *renderer) definitionPoints(h *hit, sym *code.Symbol, at Range, term term, cuts bool) float64 {
	points := scoreDefinition * weightOf(sym.Kind)
	if r.run.plan.scope.c.isJoined(sym.Name) {
		return points * scoreDefinitionFold
	}
	switch size := at.End.ByteOffset - at.Start.ByteOffset; {
	case size < len(sym.Name) && cuts:
		points *= scoreDefinitionBit
	case size < len(sym.Name):
		points *= scoreDefinitionPart
	case !term.exact && len(r.run.plan.scope.c.literals) > 0:
		points *= scoreDefinitionFold
	}
	if n := len(r.run.plan.scope.c.literals); n > 1 {
		if h.near < nearPhrase || at.Start.ByteOffset < int(h.start) || at.End.ByteOffset > int(h.end) {
			points /= float64(n)
		}
	}
	return points
}

// A term identifies the query literal that a match stands for.
type term struct {
	number int // 0 if it is none of the literals
	exact  bool
}

func termOf(written []string, text []byte) term {
	t := term{}
	for i, w := range written {
		if len(w) != len(text) || !strings.EqualFold(w, string(text)) {
			continue
		}
		t.number = min(i, 63)
		if t.exact = w == string(text); t.exact {
			break
		}
	}
	return t
}

// wholeValuePoints returns the points for a whole word that is an entire string or the
// first of its line, as the keys of a configuration are.
func wholeValuePoints(text []byte, start, end int) float64 {
	if start > 0 && end < len(text) && text[start-1] == text[end] && (text[end] == '"' || text[end] == '\'' || text[end] == '`') {
		return scoreString
	}
	line := start
	for line > 0 && (text[line-1] == ' ' || text[line-1] == '\t') {
		line--
	}
	if line == 0 || text[line-1] == '\n' {
		return scoreLineStart
	}
	return 0
}

func countOnes(b uint64) int {
	n := 0
	for ; b != 0; b &= b - 1 {
		n++
	}
	return n
}

// scoreName scores the file name.
func (r *renderer) scoreName(s *scorer) {
	best := 0.0
	stem := strings.ToLower(segment.Stem(s.f.Path))
	for _, n := range r.run.plan.schedule.names {
		switch {
		case identifier.NamesFile(n.fold, s.f.Path):
			best = max(best, scoreFileName)
		case len(n.fold) > 2 && strings.Contains(stem, n.fold):
			best = max(best, partOfFileName(n.fold, stem, segment.Stem(s.f.Path)))
		}
	}
	if n := len(r.run.plan.scope.c.literals); n > 1 {
		best /= 2
	}
	s.add(best, "the name of the file")
}

// partOfFileName returns the points for a file name that contains a term. stem is the
// file name in lower case. The term counts half if it cuts words.
func partOfFileName(fold, stem, written string) float64 {
	points := scoreFileNamePart + (scoreFileName-scoreFileNamePart)*float64(len(fold))/float64(len(stem))/2
	at := strings.Index(stem, fold)
	if len(stem) == len(written) && !identifier.IsWordPart([]byte(written), at, at+len(fold)) {
		return points / 2
	}
	return points
}

// scorePlace scores the location and the flags of the file.
func (r *renderer) scorePlace(s *scorer, flags code.Flags) {
	s.add(float64(scoreDepth*min(strings.Count(s.f.Path, "/"), maxScoredDepth)), "depth of the path")
	for _, p := range flagScores {
		if flags&p.flag != 0 {
			s.add(p.points, p.reason)
		}
	}
	if isProse(s.f.Language, s.f.Path) {
		s.add(scoreProse, "prose")
	}
}

// proseLanguages are the languages of prose.
var proseLanguages = map[code.Language]bool{
	"": true, "Text": true, "Markdown": true, "reStructuredText": true, "HTML": true, "RDoc": true, "Gettext Catalog": true, "Roff": true,
	"Roff Manpage": true, "AsciiDoc": true, "Textile": true, "Org": true, "TeX": true, "SVG": true, "Diff": true, "Source Map": true,
}

// proseFolders contain prose, in any language.
var proseFolders = []string{"doc", "docs", "documentation", "releasenotes", "changelog", "changelogs", "changes", "locale", "examples", "samples"}

// changelog matches the name of a file that lists the changes of each release.
var changelog = regexp.MustCompile(`(?i)^(?:change-?logs?|changes|history|news|releases?|release[-_]?notes)(?:[-_.]|$)`)

// isChangelog reports whether a file is a changelog, by its language and name.
func isChangelog(language code.Language, path string) bool {
	return proseLanguages[language] && changelog.MatchString(path[strings.LastIndexByte(path, '/')+1:])
}

// isProse reports whether a file is prose, by its language or its folders.
func isProse(language code.Language, path string) bool {
	if proseLanguages[language] {
		return true
	}
	for folder := range strings.SplitSeq(path[:strings.LastIndexByte(path, '/')+1], "/") {
		for _, p := range proseFolders {
			if strings.EqualFold(folder, p) {
				return true
			}
		}
	}
	return false
}

// scoreRepository scores the repository: among equal files, the most recently pushed
// repository comes first.
func (r *renderer) scoreRepository(s *scorer) {
	if s.f.Repo == nil {
		return
	}
	if s.f.Repo.Archived {
		s.add(scoreArchived, "archived")
	}
	if s.f.Repo.Fork {
		s.add(scoreFork, "fork")
	}
	if year := s.f.Repo.PushedAt.UTC().Year(); year > scoreRecentSince {
		s.add(min(float64(year-scoreRecentSince)*scoreRecent, maxScoreRecent), "recently pushed")
	}
}

// isJoined reports whether a name consists of the terms of the query.
func (c *compiledQuery) isJoined(name string) bool {
	return c.joined != "" && len(name) >= len(c.joined) && identifier.EqualIgnoringStyle(c.joined, name)
}
