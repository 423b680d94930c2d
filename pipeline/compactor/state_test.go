package compactor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestState runs the scripts in testdata/state. A segment is named by a letter; its ID is
// that byte sixteen times.
//
//	new [view]                      an empty state, corrected by views or not
//	indexed a b                     a RevisionIndexed
//	merged a b > c [partition=n]    a SegmentsMerged; "> -" for no output
//	other                           a record of another kind
//	broken                          a record that cannot be decoded
//	view a b=live                   a View with these segments
//	suspect a                       the segment store did not have it
//	settle
//
// Each command but view and settle reports whether a plan may have changed.
func TestState(t *testing.T) {
	var s *state
	datadriven.RunTest(t, "testdata/state", func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		for line := range strings.Lines(d.Input) {
			words := strings.Fields(line)
			fmt.Fprintf(&b, "%s", stateCommand(t, &s, words[0], words[1:]))
		}
		return b.String()
	})
}

func stateCommand(t *testing.T, s **state, command string, args []string) string {
	outcome := ""
	switch command {
	case "new":
		*s = newState(1, len(args) > 0)
	case "indexed":
		outcome = (*s).feedRecord(t, indexedRecord(t, args))
	case "merged":
		outcome = (*s).feedRecord(t, mergedRecord(t, args))
	case "other":
		outcome = (*s).feedRecord(t, mustEncode(t, &event.Push{Repository: 1, Ref: "refs/heads/main", Action: event.ActionUpdated}))
	case "broken":
		rec := indexedRecord(t, []string{"z"})
		rec.Value = rec.Value[1:]
		outcome = (*s).feedRecord(t, rec)
	case "view":
		outcome = fmt.Sprintf(" refused=%d", (*s).applyView(viewOf(args)))
	case "suspect":
		(*s).byID[letterID(args[0])].suspect = true
	case "settle":
		outcome = fmt.Sprintf(" lost=%d", len((*s).markLost()))
	default:
		t.Fatalf("unknown command %q", command)
	}
	return fmt.Sprintf("%s%s: %s\n", command, outcome, describeState(*s))
}

func (s *state) feedRecord(t *testing.T, rec event.Record) string {
	rec.Position = event.Position{Topic: event.TopicEvents, Partition: s.partition, Offset: s.next}
	return fmt.Sprintf(" changed=%t", s.read(rec))
}

func describeState(s *state) string {
	words := []string{fmt.Sprintf("next=%d", s.next)}
	for _, e := range s.segments {
		word := string(e.id[:1])
		if e.liveBytes >= 0 {
			word += fmt.Sprintf("=%d", e.liveBytes)
		}
		if e.keepAll {
			word += " (whole)"
		}
		if e.lost {
			word += " (lost)"
		}
		words = append(words, word)
	}
	if len(s.merged) > 0 {
		words = append(words, fmt.Sprintf("unconfirmed=%d", len(s.merged)))
	}
	return strings.Join(words, " ")
}

func letterID(name string) (id segment.ID) {
	for i := range id {
		id[i] = name[0]
	}
	return id
}

func refOf(name string) event.SegmentRef {
	return event.SegmentRef{ID: letterID(name).String(), SizeBytes: 100, TextBytes: 100, Documents: 1}
}

func viewOf(args []string) (infos []SegmentInfo) {
	for _, arg := range args {
		info := SegmentInfo{ID: letterID(arg), LiveBytes: 100}
		if _, live, ok := strings.Cut(arg, "="); ok {
			_, _ = fmt.Sscan(live, &info.LiveBytes)
		}
		infos = append(infos, info)
	}
	return infos
}

func indexedRecord(t *testing.T, names []string) event.Record {
	ev := &event.RevisionIndexed{
		Repository: 1, Ref: "refs/heads/main", Commit: code.CommitID(strings.Repeat("1", 40)),
		Cause: event.Position{Topic: event.TopicEvents, Partition: 1},
	}
	for _, name := range names {
		ev.Segments = append(ev.Segments, refOf(name))
	}
	return mustEncode(t, ev)
}

func mergedRecord(t *testing.T, args []string) event.Record {
	ev := &event.SegmentsMerged{Partition: 1}
	after := false
	for _, arg := range args {
		switch {
		case arg == "partition=2":
			ev.Partition = 2
		case arg == ">":
			after = true
		case after && arg != "-":
			ref := refOf(arg)
			ev.Output = &ref
		case !after:
			ev.Inputs = append(ev.Inputs, letterID(arg).String())
		}
	}
	return mustEncode(t, ev)
}

func mustEncode(t *testing.T, ev event.Event) event.Record {
	t.Helper()
	rec, err := event.Encode(event.Envelope{ID: "1", Source: "/test"}, ev)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}
