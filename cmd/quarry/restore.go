package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/pipeline/backup"
)

// maxDamagePrinted bounds the number of damaged files that are printed.
const maxDamagePrinted = 20

type restoreCommand struct {
	configFlags
	Backup     string `arg:"" name:"backup" complete:"path" help:"Backup directory."`
	Generation int    `placeholder:"G" help:"Number of a generation. The default is the newest."`
	Verify     bool   `help:"Check the checksums of the backup. With --data, restore it and verify what was written."`
	List       bool   `help:"Print the generations and exit."`
}

// Help implements kong.HelpProvider.
func (*restoreCommand) Help() string {
	return `Writes a generation of a backup to an empty data directory. Then start the server on it: the server rebuilds the index, and indexes what was pushed since the backup. quarry verify --repair then fetches all repositories and compares them.

Examples:

	quarry restore /mnt/backups --list
	quarry restore /mnt/backups --verify
	quarry restore /mnt/backups --generation 12 --verify --data /var/lib/quarry

If the command is interrupted, run it again to resume. Until it has finished, no server starts on the directory.

Exit status: 0 if it succeeded, 1 if it failed or a checksum differs.`
}

// Run implements the command.
func (c *restoreCommand) Run(ctx context.Context, s streams) error {
	if c.Data == "" && !c.Verify && !c.List {
		return usageErrorf("name the directory to restore to with --data, or check the backup with --verify")
	}
	err := c.restoreBackup(ctx, s)
	if _, ok := errors.AsType[exitError](err); ok || err == nil {
		return err
	}
	return fmt.Errorf("restore: %w", err)
}

func (c *restoreCommand) restoreBackup(ctx context.Context, s streams) error {
	d, err := backup.Open(c.Backup)
	if err != nil {
		return err
	}
	if c.List {
		return c.listGenerations(s, d)
	}
	generation, err := d.Choose(c.Generation)
	if err != nil {
		return err
	}
	display := terminal.NewProgress(s.errScreen)
	defer display.Close()
	progress := func(p backup.Progress) {
		display.Update(fmt.Sprintf("%d of %d files, %s", p.Files, p.FilesTotal, sizeText(p.Bytes)))
	}
	if c.Data == "" {
		return c.verifyGeneration(ctx, s, d, generation, progress)
	}
	settings, err := c.loadWithoutSecrets(s)
	if err != nil {
		return err
	}
	to := backup.Target{Data: settings.Data, Log: settings.LogDir(), Segments: settings.SegmentsDir(),
		Kafka: settings.Log.Driver == backup.LogKafka}
	if to.Objects, err = openBucket(ctx, settings); err != nil {
		return err
	}
	m, totals, err := d.Restore(ctx, generation, to, backup.RestoreOptions{Compare: c.Verify, Progress: progress})
	if err != nil {
		return err
	}
	display.Close()
	return printRestored(s, generation, &m, totals)
}

// listGenerations prints the generations, oldest first.
func (c *restoreCommand) listGenerations(s streams, d *backup.Directory) error {
	all, err := d.Generations()
	if err != nil {
		return err
	}
	damaged := false
	for _, generation := range all {
		m, totals, err := d.Describe(generation)
		if err != nil {
			damaged = true
			_, _ = fmt.Fprintf(s.err, "generation %d: %v\n", generation, err)
			continue
		}
		if _, err := fmt.Fprintf(s.out, "%d  %s  %s  %d files, %s, log %s\n", generation, m.CreatedAt.Format(time.RFC3339), m.Release,
			totals.Files, sizeText(totals.Bytes), m.Log); err != nil {
			return err
		}
	}
	if damaged {
		return exitError(exitFailed)
	}
	return nil
}

// verifyGeneration reads the files of a generation and prints the damaged ones.
func (c *restoreCommand) verifyGeneration(ctx context.Context, s streams, d *backup.Directory, generation int, progress func(backup.Progress)) error {
	damaged := 0
	_, totals, err := d.Verify(ctx, generation, func(f backup.Damage) {
		if damaged++; damaged <= maxDamagePrinted {
			_, _ = fmt.Fprintf(s.out, "damaged: %s: %s: %s\n", f.Path, f.Object, f.Reason)
		}
	}, progress)
	if err != nil {
		return err
	}
	if damaged > 0 {
		_, _ = fmt.Fprintf(s.out, "generation %d: %d of %d files are damaged; remove them and run quarry backup again, which copies those that are still in the data directory again\n", generation, damaged, totals.Files)
		return exitError(exitFailed)
	}
	_, err = fmt.Fprintf(s.out, "generation %d: %d files, %s, no difference\n", generation, totals.Files, sizeText(totals.Bytes))
	return err
}

func printRestored(s streams, generation int, m *backup.Manifest, totals backup.Totals) error {
	text := fmt.Sprintf("generation %d of %s restored: %d files, %s", generation, m.CreatedAt.Format(time.RFC3339), totals.Files,
		sizeText(totals.Bytes))
	if m.Log == backup.LogKafka {
		text += "\nthe event log is on the brokers: it must hold at least"
		for _, p := range m.Positions {
			text += fmt.Sprintf("\n  %s", p)
		}
	}
	if m.Secret == backup.SecretConfigured {
		text += "\naccess.secret is not in the backup: configure the one that the server had"
	}
	if m.Missing > 0 {
		text += fmt.Sprintf("\n%d objects were missing when the backup was made; the server re-indexes their contents", m.Missing)
	}
	_, err := fmt.Fprintln(s.out, text)
	return err
}
