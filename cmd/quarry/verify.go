package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/server"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/verification"
)

type verifyCommand struct {
	serverFlag
	configFlags
	Repositories []string `arg:"" optional:"" name:"repository" complete:"repository" help:"Full names or IDs of repositories. The default is all repositories."`
	Remote       bool     `help:"Also compare with the remote repositories. By default only the local mirrors are read."`
	Repair       bool     `help:"Re-index what differs, wait, and compare it again."`
	JSON         bool     `help:"Print the frames of the API, one JSON object per line."`
	Offline      bool     `help:"Read the data directory without a server. The server must be stopped."`
}

// Help implements kong.HelpProvider.
func (*verifyCommand) Help() string {
	return `Compares the commits, files and counts of the index with git and prints a line for each difference, and a summary.

Examples:

	quarry verify
	quarry verify app --remote
	quarry verify --remote --repair
	quarry verify --offline --data /var/lib/quarry

A repository whose mirror is lost cannot be compared; --repair fetches the mirror again. Those of other workers are compared there, or at a server with git.peers.

At a front, each replica of each shard compares its own repositories, with a line of its result, and the summary is the sum. A replica that does not answer is named, and counts as one that could not be compared.

Exit status: 0 if everything was compared and nothing differs, 1 otherwise.`
}

// Run implements the command. It exits with 1 if something differs or could not be
// compared.
func (c *verifyCommand) Run(ctx context.Context, s streams) error {
	v := &verifyPrinter{progress: terminal.NewProgress(s.errScreen), json: c.JSON, s: s}
	defer v.progress.Close()
	ask := c.verifyOnline
	if c.Offline {
		ask = c.verifyOffline
	}
	if err := ask(ctx, s, v); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if v.differences+v.unchecked > 0 {
		return exitError(exitFailed)
	}
	return nil
}

func (c *verifyCommand) verifyOnline(ctx context.Context, _ streams, v *verifyPrinter) error {
	remote, err := c.newClient(c.Data)
	if err != nil {
		return err
	}
	for f, err := range remote.Verify(ctx, wire.VerificationRequest{Repositories: c.Repositories, Remote: c.Remote, Repair: c.Repair}) {
		if err != nil {
			return err
		}
		if err := v.printFrame(f); err != nil {
			return err
		}
	}
	return nil
}

func (c *verifyCommand) verifyOffline(ctx context.Context, s streams, v *verifyPrinter) error {
	settings, logger, err := c.readSettings(s)
	if err != nil {
		return err
	}
	boot.ApplyMemoryLimit(int64(settings.Runtime.MemoryLimitBytes), settings.Runtime.GCPercent)
	registry := prometheus.NewRegistry()
	o := server.Options{Config: &settings, Logger: logger, Registerer: registry, Gatherer: registry, Version: "offline"}
	return server.Verify(ctx, o, c.Repositories, verification.Request{Remote: c.Remote, Repair: c.Repair}, v.printFrame)
}

// verifyPrinter prints the results of a verification.
type verifyPrinter struct {
	progress *terminal.Progress
	s        streams
	json     bool
	// differences and unchecked are those of the summary.
	differences, unchecked int
}

func (v *verifyPrinter) printFrame(f *wire.VerificationFrame) (err error) {
	counts := cmp.Or(f.Counts, new(wire.VerificationCounts))
	if f.Type == wire.VerificationFrameTypeSummary {
		v.differences, v.unchecked = counts.Differences, counts.Unchecked
	}
	if v.json {
		return printJSONLines(v.s.out, []*wire.VerificationFrame{f})
	}
	name := strings.TrimSpace(f.RepoName + " " + f.Ref)
	if f.Node != "" {
		name = strings.TrimSpace("shard " + f.Node + " " + name)
	}
	switch f.Type {
	case wire.VerificationFrameTypeProgress:
		v.progress.Update(fmt.Sprintf("%d of %d repositories, %d files  %s", counts.Repositories, counts.RepositoriesTotal, counts.Files,
			f.RepoName))
	case wire.VerificationFrameTypeRepair:
		v.progress.Print(fmt.Sprintf("%d %s", f.Count, f.Message))
	case wire.VerificationFrameTypeDifference:
		err = v.printLine(name + differenceText(f))
	case wire.VerificationFrameTypeUnchecked:
		err = v.printLine(fmt.Sprintf("%s: not compared: %s", name, f.Message))
	case wire.VerificationFrameTypeNode:
		err = v.printLine(name + ": " + summaryText(counts))
	case wire.VerificationFrameTypeSummary:
		err = v.printLine(summaryText(counts))
	}
	return err
}

// printLine prints a line of the result above the progress display.
func (v *verifyPrinter) printLine(line string) error {
	v.progress.Close()
	_, err := fmt.Fprintln(v.s.out, terminal.EscapeLine(line))
	return err
}

// differenceText formats one difference, without the name of its ref.
func differenceText(f *wire.VerificationFrame) string {
	var b strings.Builder
	fmt.Fprintf(&b, ": %s: %s", f.Kind, f.Message)
	if f.Path != "" {
		fmt.Fprintf(&b, "; %d, the first is %s", f.Count, f.Path)
	}
	if f.Indexed != "" || f.Found != "" {
		fmt.Fprintf(&b, "; indexed %s, found %s", orNothing(f.Indexed), orNothing(f.Found))
	}
	if f.AfterRepair {
		b.WriteString("; re-indexing did not help")
	}
	return b.String()
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

func summaryText(c *wire.VerificationCounts) string {
	text := fmt.Sprintf("%d repositories, %d refs, %d files compared: ", c.Repositories, c.Refs, c.Files)
	switch {
	case c.Differences == 0 && c.Repaired == 0:
		text += "no difference"
	case c.Repaired == 0:
		text += fmt.Sprintf("%d differences; --repair re-indexes them", c.Differences)
	default:
		text += fmt.Sprintf("%d differences repaired, %d left", c.Repaired, c.Differences)
	}
	if c.Unchecked > 0 {
		text += fmt.Sprintf("; %d could not be compared", c.Unchecked)
	}
	return text
}
