package search

import (
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Weights of the score of a file. Definitions outweigh everything else; then
// whole words; what people rarely look for comes last. docs/ranking.md explains
// the order; the numbers only have to keep it.
const (
	scoreDefinition = 1000
	scoreWholeWord  = 300
	scoreMatches    = 10 // for each match, up to maxScoredMatches
	scoreDepth      = -2 // for each directory of the path
	scoreTest       = -60
	scoreVendored   = -40
	scoreGenerated  = -120

	maxScoredMatches = 10
	maxScoredDepth   = 20
)

// score sets the score of a file from what is known of its matches and its place.
func (r *renderer) score(f *FileMatch, h *hit, flags code.Flags) {
	add := func(points float64, reason string) {
		f.Score += points
		if r.run.request.Explain {
			f.Reasons = append(f.Reasons, fmt.Sprintf("%+g %s", points, reason))
		}
	}
	if defines(f.Chunks) {
		add(scoreDefinition, "defines a symbol that matches")
	}
	if wholeWord(f.Chunks) {
		add(scoreWholeWord, "matches a whole word")
	}
	add(float64(scoreMatches*min(h.count, maxScoredMatches)), "matches")
	add(float64(scoreDepth*min(strings.Count(f.Path, "/"), maxScoredDepth)), "depth of the path")
	for _, p := range []struct {
		flag   code.Flags
		points float64
		reason string
	}{{code.FlagTest, scoreTest, "test"}, {code.FlagVendored, scoreVendored, "vendored"}, {code.FlagGenerated, scoreGenerated, "generated"}} {
		if flags&p.flag != 0 {
			add(p.points, p.reason)
		}
	}
}

// defines reports whether a match is the whole name of a symbol defined there.
func defines(chunks []Chunk) bool {
	for i := range chunks {
		for j, s := range chunks[i].Symbols {
			if r := chunks[i].Ranges[j]; s != nil && r.End.ByteOffset-r.Start.ByteOffset == len(s.Name) {
				return true
			}
		}
	}
	return false
}

// wholeWord reports whether a match has no letter, digit or underscore beside it.
func wholeWord(chunks []Chunk) bool {
	for i := range chunks {
		c := &chunks[i]
		for _, r := range c.Ranges {
			start, end := r.Start.ByteOffset-c.Start.ByteOffset, r.End.ByteOffset-c.Start.ByteOffset
			if (start == 0 || !isWord(c.Content[start-1])) && (end >= len(c.Content) || !isWord(c.Content[end])) {
				return true
			}
		}
	}
	return false
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
