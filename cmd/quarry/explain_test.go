package main

import (
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

func TestPrintExplain(t *testing.T) {
	e := &wire.SearchExplain{
		Query: "a b", Atoms: []string{"a in text: literals [\"a\"]"}, Stages: wire.StageTimes{PlanMicros: 12, TotalMicros: 3400}, Stopped: "match limit",
	}
	for range maxExplained + 2 {
		e.Segments = append(e.Segments, wire.SegmentExplain{ID: "0123456789abcdef", Documents: 7, CandidateBlocks: []int{3, -1}, Matches: 2, ContentBytes: 1})
	}
	e.Segments[1].CandidateBlocks = nil
	var b strings.Builder
	printExplain(&b, e)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	for i, want := range map[int]string{
		0: "query: a b", 1: `pattern 1: a in text: literals ["a"]`, 2: "time: parse 0s, wait 0s, plan 12µs, candidates 0s, verify 0s, rank 0s, render 0s, total 3.4ms",
		4:                "0123456789ab  7          3,all             0      0 KiB  0      0 KiB    1 KiB         2        0s",
		5:                "0123456789ab  7          -                 0      0 KiB  0      0 KiB    1 KiB         2        0s",
		4 + maxExplained: "and 2 more    14         -                 0      0 KiB  0      0 KiB    1 KiB         4        0s",
		5 + maxExplained: "ended: match limit",
	} {
		if lines[i] != want {
			t.Errorf("line %d is\n%q, want\n%q", i, lines[i], want)
		}
	}
}
