package search

import (
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/internal/identifier"
	"github.com/quarrysearch/quarry/query/internal/ranking"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/schemas/code"
)

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
	s.add(ranking.ScoreFrequency*float64(h.Frequency), "frequency relative to length")
	s.add(nearScores[h.Near]*ranking.NearShare(flags, f.Language, f.Path), nearReasons[h.Near])
	switch {
	case r.run.plan.scope.Ranker != nil:
		s.add(float64(h.Points), "words in the text and the path")
	case h.Unit > 0:
		s.add(float64(h.Points), "words of one definition")
	default:
		s.add(float64(h.Points), "explains the message")
	}
	r.scoreName(s)
	r.scorePlace(s, flags)
	r.scoreRepository(s)
}

var nearReasons = [...]string{
	match.NearRegion: "terms within ten lines", match.NearLines3: "terms within three lines", match.NearLine: "terms on one line",
	match.NearPhrase: "terms exactly as written",
}

// scoreMatches scores matches by whether they are definitions, whole words, and in the
// letter case of the query.
func (r *renderer) scoreMatches(s *scorer, h *hit) {
	terms := r.run.plan.scope.Query.Literals
	best, own, seen := 0.0, 0.0, 0
	var defined *code.Symbol
	var words, parts, exact uint64
	for i := range s.f.Chunks {
		c := &s.f.Chunks[i]
		for j := range c.Ranges {
			if seen++; seen > ranking.MaxScoredRanges {
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
				r.definesMatch = r.definesMatch || end-start == len(c.Symbols[j].Name) && ranking.KindWeights[c.Symbols[j].Kind] >= ranking.MinDefinedWeight
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
	s.add(ranking.ScoreWholeWord*float64(min(countOnes(words), int(n)))/n, "whole words")
	s.add(ranking.ScoreWordPart*float64(min(countOnes(parts&^words), int(n)))/n, "words of identifiers")
	if own /= n; defined == nil {
		s.add(own, "a complete string or line")
	}
	s.add(ranking.ScoreExactCase*float64(min(countOnes(exact), int(n)))/n, "letter case")
}

// definitionPoints returns the score of a match on the name of a symbol. One of several
// terms counts little unless the other terms are also there. cuts means that the match
// begins or ends inside a word.
func (r *renderer) definitionPoints(h *hit, sym *code.Symbol, at Range, term term, cuts bool) float64 {
	points := ranking.ScoreDefinition * ranking.KindWeight(sym.Kind)
	if r.run.plan.scope.Query.IsJoined(sym.Name) {
		return points * ranking.ScoreDefinitionFold
	}
	switch size := at.End.ByteOffset - at.Start.ByteOffset; {
	case size < len(sym.Name) && cuts:
		points *= ranking.ScoreDefinitionBit
	case size < len(sym.Name):
		points *= ranking.ScoreDefinitionPart
	case !term.exact && len(r.run.plan.scope.Query.Literals) > 0:
		points *= ranking.ScoreDefinitionFold
	}
	if n := len(r.run.plan.scope.Query.Literals); n > 1 {
		if h.Near < match.NearPhrase || at.Start.ByteOffset < int(h.Start) || at.End.ByteOffset > int(h.End) {
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
		return ranking.ScoreString
	}
	line := start
	for line > 0 && (text[line-1] == ' ' || text[line-1] == '\t') {
		line--
	}
	if line == 0 || text[line-1] == '\n' {
		return ranking.ScoreLineStart
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
		case identifier.NamesFile(n.Fold, s.f.Path):
			best = max(best, ranking.ScoreFileName)
		case len(n.Fold) > 2 && strings.Contains(stem, n.Fold):
			best = max(best, partOfFileName(n.Fold, stem, segment.Stem(s.f.Path)))
		}
	}
	if n := len(r.run.plan.scope.Query.Literals); n > 1 {
		best /= 2
	}
	s.add(best, "the name of the file")
}

// partOfFileName returns the points for a file name that contains a term. stem is the
// file name in lower case. The term counts half if it cuts words.
func partOfFileName(fold, stem, written string) float64 {
	points := ranking.ScoreFileNamePart + (ranking.ScoreFileName-ranking.ScoreFileNamePart)*float64(len(fold))/float64(len(stem))/2
	at := strings.Index(stem, fold)
	if len(stem) == len(written) && !identifier.IsWordPart([]byte(written), at, at+len(fold)) {
		return points / 2
	}
	return points
}

// scorePlace scores the location and the flags of the file.
func (r *renderer) scorePlace(s *scorer, flags code.Flags) {
	s.add(float64(ranking.ScoreDepth*min(strings.Count(s.f.Path, "/"), ranking.MaxScoredDepth)), "depth of the path")
	for _, p := range flagScores {
		if flags&p.flag != 0 {
			s.add(p.points, p.reason)
		}
	}
	if ranking.IsProse(s.f.Language, s.f.Path) {
		s.add(ranking.ScoreProse, "prose")
	}
}

// scoreRepository scores the repository: among equal files, the most recently pushed
// repository comes first.
func (r *renderer) scoreRepository(s *scorer) {
	if s.f.Repo == nil {
		return
	}
	if s.f.Repo.Archived {
		s.add(ranking.ScoreArchived, "archived")
	}
	if s.f.Repo.Fork {
		s.add(ranking.ScoreFork, "fork")
	}
	if year := s.f.Repo.PushedAt.UTC().Year(); year > ranking.ScoreRecentSince {
		s.add(min(float64(year-ranking.ScoreRecentSince)*ranking.ScoreRecent, ranking.MaxScoreRecent), "recently pushed")
	}
}
