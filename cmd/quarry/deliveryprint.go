package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// printDeliveries prints a table of deliveries, or a message if there are none.
func printDeliveries(out io.Writer, found []wire.Delivery) error {
	if len(found) == 0 {
		_, err := fmt.Fprintln(out, "no deliveries")
		return err
	}
	return printDeliveryTable(out, found, true)
}

// printDeliveryTable prints a line for each push, and one for each delivery without a
// push.
func printDeliveryTable(out io.Writer, found []wire.Delivery, header bool) error {
	t := newTable(out)
	if header {
		t.row("ID", "RECEIVED", "CONNECTION", "REPOSITORY", "REF", "OUTCOME", "TOOK")
	}
	for i := range found {
		d := &found[i]
		received := d.ReceivedAt.Local().Format(time.DateTime)
		from := cmp.Or(d.Connection, strings.TrimPrefix(d.Source, "/"))
		if len(d.Pushes) == 0 {
			t.row(d.ID, received, from, repositoryOf(d), "", outcomeOf(d), "")
		}
		for j := range d.Pushes {
			p := &d.Pushes[j]
			ref := cmp.Or(strings.TrimPrefix(strings.TrimPrefix(p.Ref, "refs/heads/"), "refs/"), "(all)")
			t.row(d.ID, received, from, repositoryOf(d), ref, string(p.Outcome), elapsedText(d, p))
		}
	}
	return t.Flush()
}

// escapeCell makes text safe for a terminal and keeps it within one table cell.
func escapeCell(s string) string {
	return strings.ReplaceAll(terminal.EscapeLine(s), "\t", `\t`)
}

func repositoryOf(d *wire.Delivery) string {
	if d.RepoName == "" && d.RepoID != 0 {
		return fmt.Sprint(d.RepoID)
	}
	return d.RepoName
}

// outcomeOf describes the outcome of a delivery without a push.
func outcomeOf(d *wire.Delivery) string {
	text := string(d.Outcome)
	switch {
	case !d.DuplicateOf.IsZero():
		text += fmt.Sprintf(" of %d-%d", d.DuplicateOf.Partition, d.DuplicateOf.Offset)
	case !d.TakenAs.IsZero():
		text += fmt.Sprintf(": %s, by %s", d.Reason, d.TakenAs)
	case d.Reason != "":
		text += ": " + d.Reason
	}
	if d.Suppressed > 0 {
		text += fmt.Sprintf(" (and %d before)", d.Suppressed)
	}
	return text
}

// elapsedText returns the time from the receipt of a push until it is searchable or
// otherwise finished.
func elapsedText(d *wire.Delivery, p *wire.DeliveredPush) string {
	end := p.SearchableAt
	if end.IsZero() {
		end = p.DoneAt
	}
	if end.IsZero() || d.ReceivedAt.IsZero() {
		return ""
	}
	return max(0, end.Sub(d.ReceivedAt.Time)).Round(time.Millisecond).String()
}

// printDelivery prints all facts about a delivery, one on each line.
func printDelivery(out io.Writer, d *wire.Delivery) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fact := factPrinter(w)
	fact("id", d.ID)
	fact("position", d.Position.String())
	fact("source", d.Source)
	fact("connection", d.Connection)
	fact("delivery", d.DeliveryID)
	if d.Verified != nil {
		fact("verified", fmt.Sprint(*d.Verified))
	}
	fact("body SHA-256", d.BodySHA256)
	fact("repository", repositoryOf(d))
	fact("received", formatTime(d.ReceivedAt.Time))
	fact("in the log", formatTime(d.LoggedAt.Time))
	fact("outcome", outcomeOf(d))
	if d.Duplicates.Count > 0 {
		fact("duplicates", fmt.Sprintf("%d, the last at %s", d.Duplicates.Count, formatTime(d.Duplicates.LastAt.Time)))
	}
	for i := range d.Pushes {
		_, _ = fmt.Fprintln(w)
		factsOfPush(fact, d, &d.Pushes[i])
	}
	return w.Flush()
}

// factPrinter returns a function that prints a name and a value; it skips empty values.
func factPrinter(w io.Writer) func(name, value string) {
	return func(name, value string) {
		if value != "" {
			_, _ = fmt.Fprintf(w, "%s\t%s\n", name, escapeCell(value)) // a tabwriter keeps its error for Flush
		}
	}
}

func factsOfPush(fact func(name, value string), d *wire.Delivery, p *wire.DeliveredPush) {
	fact("push of", cmp.Or(p.Ref, "all refs"))
	fact("  position", p.Position.String())
	if p.Before != "" || p.After != "" {
		fact("  said to move", fmt.Sprintf("%s to %s", cmp.Or(p.Before, "nothing"), cmp.Or(p.After, "nothing")))
	}
	fact("  outcome", string(p.Outcome))
	fact("  code", string(p.Code))
	fact("  remedy", p.Remedy)
	fact("  reason", p.Reason)
	if !p.DeadLetter.IsZero() {
		fact("  dead letter", fmt.Sprintf("%d-%d", p.DeadLetter.Partition, p.DeadLetter.Offset))
	}
	if !p.IndexedWith.IsZero() {
		fact("  indexed with", p.IndexedWith.String())
	}
	fact("  commit", p.Commit)
	if p.ChangedFiles != nil {
		fact("  changed files", fmt.Sprint(*p.ChangedFiles))
	}
	if p.Segments > 0 {
		fact("  new documents", fmt.Sprintf("%d, in %d segments", p.NewDocuments, p.Segments))
	}
	if !p.AnsweredBy.IsZero() {
		fact("  announced by", p.AnsweredBy.String())
	}
	fact("  worker done", formatTime(p.DoneAt.Time))
	if !p.SearchableAt.IsZero() {
		fact("  searchable", fmt.Sprintf("%s, by the clock of the %s", formatTime(p.SearchableAt.Time), p.SearchableAtClock))
	}
	fact("  took", elapsedText(d, p))
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
