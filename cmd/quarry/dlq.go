package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type dlqCommand struct {
	List   listDeadLettersCommand   `cmd:"" default:"withargs" help:"List dead letters: records that could not be processed."`
	Show   showDeadLetterCommand    `cmd:"" help:"Show a dead letter with its key, headers and value."`
	Replay replayDeadLettersCommand `cmd:"" help:"Process dead letters again."`
	Drop   dropDeadLettersCommand   `cmd:"" help:"Discard dead letters."`
}

// Help implements kong.HelpProvider.
func (*dlqCommand) Help() string { return "Without a command, lists the dead letters." }

// deadLetterFilter holds the flags that select dead letters.
type deadLetterFilter struct {
	Stage      string `placeholder:"STAGE" complete:"worker,projections" help:"Only dead letters of this stage: worker or projections."`
	Type       string `placeholder:"TYPE" help:"Only dead letters with events of this type, such as dev.quarry.push.v1."`
	Repository string `placeholder:"NAME" complete:"repository" help:"Only dead letters of the repository with this full name or ID."`
}

type listDeadLettersCommand struct {
	askFlags
	deadLetterFilter
	Limit int  `short:"n" placeholder:"N" default:"30" help:"List at most N dead letters. The default is ${default}."`
	JSON  bool `help:"Print one JSON object per line."`
}

// Help implements kong.HelpProvider.
func (*listDeadLettersCommand) Help() string {
	return `Prints a table with the ID, time, stage, event, repository and reason of each dead letter.

Examples:

	quarry dlq
	quarry dlq list --stage worker --repository app`
}

// Run implements the command.
func (c *listDeadLettersCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	if name, err := findNameOrID(ctx, server, c.Repository); err == nil { // one that was removed keeps its dead letters
		c.Repository = name
	}
	var found []wire.DeadLetter
	open := 0
	query := client.ListDeadLettersParams{Stage: c.Stage, Type: c.Type, Repository: c.Repository, PerPage: maxPageDeliveries}
	for query.Page = 1; len(found) < c.Limit; query.Page++ {
		page, err := server.ListDeadLetters(ctx, query)
		if err != nil {
			return err
		}
		found, open = append(found, page.Letters...), page.Open
		if len(page.Letters) < maxPageDeliveries {
			break
		}
	}
	found = found[:min(len(found), c.Limit)]
	if c.JSON {
		return printJSONLines(s.out, found)
	}
	return printDeadLetters(s, found, open)
}

// printDeadLetters prints a table of dead letters.
func printDeadLetters(s streams, found []wire.DeadLetter, open int) error {
	if open == 0 {
		_, err := fmt.Fprintln(s.out, "no dead letters")
		return err
	}
	t := newTable(s.out, "ID", "AT", "STAGE", "EVENT", "REPOSITORY", "CODE", "REASON")
	for i := range found {
		l := &found[i]
		t.row(l.ID, l.At.Local().Format(time.DateTime), l.Stage, strings.TrimPrefix(l.Type, "dev.quarry."),
			deadLetterRepository(l.RepoName, l.RepoID), string(l.Code), l.Reason)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.err, "%d of %d open dead letters\n", len(found), open)
	return err
}

func deadLetterRepository(name string, id wire.RepositoryNumber) string {
	if name == "" && id != 0 {
		return strconv.Itoa(int(id))
	}
	return name
}

type showDeadLetterCommand struct {
	askFlags
	ID   string `arg:"" help:"ID of the dead letter as dlq list prints it."`
	JSON bool   `help:"Print the answer of the API as JSON."`
}

// Run implements the command.
func (c *showDeadLetterCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	partition, offset, err := parseDeadLetterID(c.ID)
	if err != nil {
		return err
	}
	l, err := server.GetDeadLetter(ctx, partition, offset)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSONLines(s.out, []*wire.DeadLetterDetails{l})
	}
	return printDeadLetter(s, l)
}

func printDeadLetter(s streams, l *wire.DeadLetterDetails) error {
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fact := factPrinter(w)
	fact("id", l.ID)
	if !l.RecordPosition.IsZero() {
		fact("record", l.RecordPosition.String())
	}
	fact("stage", l.Stage)
	fact("code", string(l.Code))
	fact("remedy", l.Remedy)
	fact("reason", l.Reason)
	fact("attempts", strconv.Itoa(l.Attempts))
	fact("at", formatTime(l.At.Time))
	fact("repository", deadLetterRepository(l.RepoName, l.RepoID))
	if l.Copies > 0 {
		fact("copies", strconv.Itoa(l.Copies))
	}
	fact("cannot be read", l.Unreadable)
	fact("key", l.Key)
	for _, h := range l.Headers {
		fact(h.Name, h.Value)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	value := l.Value
	if len(l.ValueBase64) > 0 {
		value = strconv.Quote(string(l.ValueBase64))
	}
	_, err := fmt.Fprintf(s.out, "\n%s\n", escapeCell(value))
	return err
}

// parseDeadLetterID parses an ID of the form partition-offset.
func parseDeadLetterID(id string) (partition int, offset int64, err error) {
	left, right, _ := strings.Cut(id, "-")
	p, err1 := strconv.ParseInt(left, 10, 32)
	offset, err2 := strconv.ParseInt(right, 10, 64)
	if err1 != nil || err2 != nil || p < 0 || offset < 0 {
		return 0, 0, usageErrorf("%q is not an ID of a dead letter: want one such as 2-170, as quarry dlq list prints it", id)
	}
	return int(p), offset, nil
}

// deadLetterSelection selects the dead letters that a command changes: those with the
// given IDs, or all that match the filter.
type deadLetterSelection struct {
	askFlags
	deadLetterFilter
	ID   []string `arg:"" optional:"" help:"IDs of dead letters as dlq list prints them."`
	All  bool     `help:"Select all dead letters, or those that --stage, --type and --repository select."`
	JSON bool     `help:"Print the answers of the API as JSON."`
}

func (c *deadLetterSelection) checkSelection() error {
	switch filtered := c.deadLetterFilter != (deadLetterFilter{}); {
	case len(c.ID) > 0 && (c.All || filtered):
		return usageErrorf("give IDs of dead letters, or --all, not both")
	case len(c.ID) == 0 && !c.All:
		return usageErrorf("give IDs of dead letters, or --all; --stage, --type and --repository select some of all")
	}
	return nil
}

type replayDeadLettersCommand struct{ deadLetterSelection }

// Help implements kong.HelpProvider.
func (*replayDeadLettersCommand) Help() string {
	return `Appends the records to the event log again, so that the server processes them.

Examples:

	quarry dlq replay 1-4
	quarry dlq replay --all --repository app

Exit status: 1 if a dead letter was refused.`
}

// Help implements kong.HelpProvider.
func (*dropDeadLettersCommand) Help() string {
	return `Marks dead letters as resolved without processing them. They stay in the event log.

Examples:

	quarry dlq drop 1-4 --reason 'repository was moved'
	quarry dlq drop --all --stage projections

Exit status: 1 if a dead letter was refused.`
}

// Run implements the command. It exits with 1 if a letter was refused.
func (c *replayDeadLettersCommand) Run(ctx context.Context, s streams) error {
	return c.resolveSelected(ctx, s, "replayed", (*client.Client).ReplayDeadLetter,
		func(server *client.Client, ctx context.Context) (*wire.ResolvedAll, error) {
			return server.ReplayDeadLetters(ctx, client.ReplayDeadLettersParams{Stage: c.Stage, Type: c.Type, Repository: c.Repository, All: true})
		})
}

type dropDeadLettersCommand struct {
	deadLetterSelection
	Reason string `placeholder:"TEXT" help:"Reason, which is kept in the event log."`
}

// Run implements the command.
func (c *dropDeadLettersCommand) Run(ctx context.Context, s streams) error {
	one := func(server *client.Client, ctx context.Context, partition int, offset int64) (*wire.Resolved, error) {
		return server.DropDeadLetter(ctx, partition, offset, client.DropDeadLetterParams{Reason: c.Reason})
	}
	all := func(server *client.Client, ctx context.Context) (*wire.ResolvedAll, error) {
		return server.DropDeadLetters(ctx, client.DropDeadLettersParams{Stage: c.Stage, Type: c.Type, Repository: c.Repository, All: true,
			Reason: c.Reason})
	}
	return c.resolveSelected(ctx, s, "dropped", one, all)
}

func (c *deadLetterSelection) resolveSelected(
	ctx context.Context, s streams, done string,
	one func(*client.Client, context.Context, int, int64) (*wire.Resolved, error),
	all func(*client.Client, context.Context) (*wire.ResolvedAll, error),
) error {
	if err := c.checkSelection(); err != nil {
		return err
	}
	server, err := c.newClient()
	if err != nil {
		return err
	}
	if c.All {
		return c.resolveAll(ctx, s, done, func() (*wire.ResolvedAll, error) { return all(server, ctx) })
	}
	failed := 0
	for _, id := range c.ID {
		partition, offset, err := parseDeadLetterID(id)
		if err != nil {
			return err
		}
		resolved, err := one(server, ctx, partition, offset)
		switch refusal := new(client.Error); {
		case err == nil:
			err = c.printResolved(s, done, resolved)
		case errors.As(err, &refusal):
			failed++
			_, err = fmt.Fprintf(s.err, "quarry: %s: %s\n", id, refusal.Message)
		}
		if err != nil {
			return err
		}
	}
	if failed > 0 {
		return exitError(exitFailed)
	}
	return nil
}

func (c *deadLetterSelection) printResolved(s streams, done string, r *wire.Resolved) error {
	if c.JSON {
		return printJSONLines(s.out, []*wire.Resolved{r})
	}
	text := r.ID + ": " + done
	if !r.ResolvedBy.IsZero() {
		text += " as " + r.ResolvedBy.String()
	}
	_, err := fmt.Fprintln(s.out, text)
	return err
}

// resolveAll repeats the request until only rejected dead letters are left.
func (c *deadLetterSelection) resolveAll(ctx context.Context, s streams, done string, ask func() (*wire.ResolvedAll, error)) error {
	for total := 0; ; {
		answer, err := ask()
		if err != nil {
			return err
		}
		total += answer.Resolved
		if c.JSON {
			if err := printJSONLines(s.out, []*wire.ResolvedAll{answer}); err != nil {
				return err
			}
		}
		if answer.Resolved > 0 && answer.Remaining > len(answer.Refused) && ctx.Err() == nil {
			continue
		}
		return c.printSummary(s, done, total, answer)
	}
}

func (c *deadLetterSelection) printSummary(s streams, done string, total int, last *wire.ResolvedAll) error {
	if !c.JSON {
		if _, err := fmt.Fprintf(s.out, "%d dead letters %s\n", total, done); err != nil {
			return err
		}
	}
	for _, r := range last.Refused {
		_, _ = fmt.Fprintf(s.err, "quarry: %s: %s\n", r.ID, r.Message)
	}
	if last.Remaining > 0 {
		return exitError(exitFailed)
	}
	return nil
}
