package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/server"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type verifyAuditCommand struct {
	serverFlag
	configFlags
	Head    []string `placeholder:"HASH" help:"Head that was stored elsewhere, as audit head prints it. It must be in the chain. May be repeated."`
	JSON    bool     `help:"Print the frames of the API, one JSON object per line."`
	Offline bool     `help:"Read the data directory without a server. The server must be stopped."`
}

// Help implements kong.HelpProvider.
func (*verifyAuditCommand) Help() string {
	return `Recomputes the hash chains and checks the seals. Prints a line for each finding, a summary, and the current heads.

Examples:

	quarry audit verify
	quarry audit verify $(sed 's/^/--head /' /mnt/elsewhere/head)
	quarry audit verify --offline --data /var/lib/quarry

Exit status: 0 if the log is unchanged, 1 if there are findings or the verification failed.`
}

// Run implements the command. It exits with 1 if the audit log differs from what was
// written, and prints the first position that differs.
func (c *verifyAuditCommand) Run(ctx context.Context, s streams) error {
	v := &auditVerifyPrinter{progress: terminal.NewProgress(s.errScreen), json: c.JSON, s: s}
	defer v.progress.Close()
	ask := c.verifyOnline
	if c.Offline {
		ask = c.verifyOffline
	}
	if err := ask(ctx, s, v); err != nil {
		return fmt.Errorf("audit verify: %w", err)
	}
	if v.findings > 0 {
		return exitError(exitFailed)
	}
	return nil
}

func (c *verifyAuditCommand) verifyOnline(ctx context.Context, _ streams, v *auditVerifyPrinter) error {
	remote, err := c.newClient(c.Data)
	if err != nil {
		return err
	}
	for f, err := range remote.VerifyAudit(ctx, wire.AuditVerificationRequest{Heads: c.Head}) {
		if err != nil {
			return err
		}
		if err := v.printFrame(f); err != nil {
			return err
		}
	}
	return nil
}

func (c *verifyAuditCommand) verifyOffline(ctx context.Context, s streams, v *auditVerifyPrinter) error {
	settings, logger, err := c.readSettings(s)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	o := server.Options{Config: &settings, Logger: logger, Registerer: registry, Gatherer: registry, Version: "offline"}
	report, err := server.VerifyAudit(ctx, o, c.Head, func(r auditlog.Report) error { return v.printFrame(api.AuditProgress(&r)) })
	if err != nil {
		return err
	}
	for _, f := range api.AuditFindings(report) {
		if err := v.printFrame(f); err != nil {
			return err
		}
	}
	return nil
}

// auditVerifyPrinter prints the results of a verification of the audit log.
type auditVerifyPrinter struct {
	progress *terminal.Progress
	s        streams
	json     bool
	findings int
}

func (v *auditVerifyPrinter) printFrame(f *wire.AuditFrame) error {
	counts := cmp.Or(f.Counts, new(wire.AuditCounts))
	if f.Type == wire.AuditFrameTypeSummary {
		v.findings = counts.Findings
	}
	if v.json {
		return printJSONLines(v.s.out, []*wire.AuditFrame{f})
	}
	switch f.Type {
	case wire.AuditFrameTypeProgress:
		v.progress.Update(fmt.Sprintf("%d records, %d entries", counts.Records, counts.Entries))
	case wire.AuditFrameTypeFinding:
		return v.printLine(auditFinding(f))
	case wire.AuditFrameTypeSummary:
		return v.printLine(auditSummary(counts))
	}
	return nil
}

// printLine prints a line of the result above the progress display.
func (v *auditVerifyPrinter) printLine(line string) error {
	v.progress.Close()
	_, err := fmt.Fprintln(v.s.out, line)
	return err
}

// auditFinding formats one finding as a line.
func auditFinding(f *wire.AuditFrame) string {
	where := ""
	if f.Position.Topic != "" {
		where = fmt.Sprintf("%s/%d/%d: ", f.Position.Topic, f.Position.Partition, f.Position.Offset)
	}
	if f.Entry != "" {
		where += "entry " + f.Entry + ": "
	}
	return escapeCell(where + string(f.Kind) + ": " + f.Message)
}

// auditSummary formats the last line, with the heads that the operator should write down.
func auditSummary(c *wire.AuditCounts) string {
	text := fmt.Sprintf("%d records, %d entries, %d seals: ", c.Records, c.Entries, c.Seals)
	if c.Findings == 0 {
		text += "as they were written"
	} else {
		text += fmt.Sprintf("%d findings", c.Findings)
	}
	if c.Heads > 0 {
		text += fmt.Sprintf("; %d noted heads are in the chains", c.Heads)
	}
	if c.SealsUnchecked > 0 {
		text += fmt.Sprintf("; %d seals could not be checked", c.SealsUnchecked)
	}
	if c.Unproven > 0 {
		text += fmt.Sprintf("; %d records before the first seal are not proven", c.Unproven)
	}
	for _, head := range c.Chains {
		text += "\nhead " + head
	}
	return text
}
