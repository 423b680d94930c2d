package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// maxExplained bounds the number of segments that are printed individually.
const maxExplained = 50

// printExplain prints how a query was run. It ignores write errors: the search results
// matter more.
func printExplain(w io.Writer, e *wire.SearchExplain) {
	_, _ = fmt.Fprintf(w, "query: %s\n", e.Query)
	if e.AsOf != "" {
		_, _ = fmt.Fprintf(w, "as of: %s\n", e.AsOf)
	}
	for i, a := range e.Atoms {
		_, _ = fmt.Fprintf(w, "pattern %d: %s\n", i+1, a)
	}
	var times []string
	st := &e.Stages
	for _, stage := range []struct {
		name   string
		micros int64
	}{
		{"parse", st.ParseMicros}, {"wait", st.WaitMicros}, {"plan", st.PlanMicros}, {"candidates", st.CandidatesMicros},
		{"verify", st.VerifyMicros}, {"rank", st.RankMicros}, {"render", st.RenderMicros}, {"total", st.TotalMicros},
	} {
		times = append(times, fmt.Sprintf("%s %v", stage.name, time.Duration(stage.micros)*time.Microsecond))
	}
	_, _ = fmt.Fprintf(w, "time: %s\n", strings.Join(times, ", "))
	printSegments(w, e.Segments)
	for _, f := range e.Files {
		_, _ = fmt.Fprintf(w, "score %.0f %s %s: %s\n", f.Score, f.Repository, f.Path, strings.Join(f.Reasons, ", "))
	}
	for _, p := range e.Probes {
		_, _ = fmt.Fprintf(w, "besides: %s: %d matches, %v\n", p.Query, p.Matches, time.Duration(p.Micros)*time.Microsecond)
	}
	stopped := e.Stopped
	if stopped == "" {
		stopped = "all candidates were searched"
	}
	_, _ = fmt.Fprintf(w, "ended: %s\n", stopped)
}

func printSegments(w io.Writer, segments []wire.SegmentExplain) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "segment\tdocuments\tcandidate blocks\tlists\tindex\tfiles\tscanned\tdecompressed\tmatches\ttime")
	var rest wire.SegmentExplain
	for i := range segments {
		s := &segments[i]
		if i < maxExplained {
			printSegment(t, shortenID(s.ID), s)
			continue
		}
		rest.Documents += s.Documents
		rest.Lists += s.Lists
		rest.IndexBytes += s.IndexBytes
		rest.FilesConsidered += s.FilesConsidered
		rest.ScannedBytes += s.ScannedBytes
		rest.ContentBytes += s.ContentBytes
		rest.Matches += s.Matches
		rest.Micros += s.Micros
	}
	if n := len(segments) - maxExplained; n > 0 {
		printSegment(t, fmt.Sprintf("and %d more", n), &rest)
	}
	_ = t.Flush() // see printExplain
}

func printSegment(t io.Writer, name string, s *wire.SegmentExplain) {
	_, _ = fmt.Fprintf(t, "%s\t%d\t%s\t%d\t%s\t%d\t%s\t%s\t%d\t%v\n", name, s.Documents, formatBlocks(s.CandidateBlocks), s.Lists,
		formatKibibytes(s.IndexBytes),
		s.FilesConsidered, formatKibibytes(s.ScannedBytes), formatKibibytes(s.ContentBytes), s.Matches, time.Duration(s.Micros)*time.Microsecond)
}

// formatBlocks formats the number of candidate blocks of each pattern.
func formatBlocks(counts []int) string {
	if len(counts) == 0 {
		return "-"
	}
	words := make([]string, len(counts))
	for i, n := range counts {
		if words[i] = strconv.Itoa(n); n < 0 {
			words[i] = "all"
		}
	}
	return strings.Join(words, ",")
}

// formatKibibytes rounds up, so that only zero bytes are printed as 0.
func formatKibibytes(n int64) string { return fmt.Sprintf("%d KiB", (n+1023)>>10) }

// shortenID cuts an identifier to a distinctive prefix.
func shortenID(id string) string { return id[:min(len(id), 12)] }
