package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/segmentdriver"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/projections/snapshots"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// snapshotPollInterval is the interval at which a command asks whether its snapshot is
// complete.
const snapshotPollInterval = 300 * time.Millisecond

type snapshotsCommand struct {
	List   listSnapshotsCommand  `cmd:"" default:"withargs" help:"List the snapshots of the index."`
	Create createSnapshotCommand `cmd:"" help:"Create a snapshot of the index."`
	Verify verifySnapshotCommand `cmd:"" help:"Read a snapshot completely and check it."`
	Delete deleteSnapshotCommand `cmd:"" help:"Delete a snapshot."`
}

// Help implements kong.HelpProvider.
func (*snapshotsCommand) Help() string {
	return "A query node whose projections are empty or too old starts from the newest snapshot instead of replaying the log. Without a command, lists the snapshots."
}

type listSnapshotsCommand struct {
	askFlags
	JSON bool `help:"Print one JSON object per line."`
}

// Help implements kong.HelpProvider.
func (*listSnapshotsCommand) Help() string {
	return `Prints the name, age, rows, size and segments of each snapshot in the segment store, newest first, and why it cannot be used.

Examples:

	quarry snapshots
	quarry snapshots list --json`
}

// Run implements the command.
func (c *listSnapshotsCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	list, err := server.ListSnapshots(ctx)
	if err != nil {
		return err
	}
	if list.Creating {
		_, _ = fmt.Fprintln(s.err, "a snapshot is being created")
	}
	if list.Error != "" {
		_, _ = fmt.Fprintln(s.err, escapeCell("the last snapshot could not be created: "+list.Error))
	}
	if c.JSON {
		return printJSONLines(s.out, list.Snapshots)
	}
	if len(list.Snapshots) == 0 {
		_, err := fmt.Fprintln(s.out, "no snapshots")
		return err
	}
	t := newTable(s.out, "NAME", "CREATED", "ROWS", "SIZE", "SEGMENTS", "PROBLEM")
	for _, known := range list.Snapshots {
		t.row(known.Name, known.CreatedAt.Local().Format(time.DateTime), fmt.Sprint(known.Rows), sizeText(known.SizeBytes), fmt.Sprint(known.Segments), known.Problem)
	}
	return t.Flush()
}

type createSnapshotCommand struct{ askFlags }

// Help implements kong.HelpProvider.
func (*createSnapshotCommand) Help() string {
	return `Has the server write the rows of its index to the segment store, and waits until the snapshot is complete. Segments are not copied. Then the server deletes all but the newest snapshots (snapshots.keep).

Exit status: 0 if the snapshot is complete, 1 if not.`
}

// Run implements the command.
func (c *createSnapshotCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	before, err := server.ListSnapshots(ctx)
	if err != nil {
		return err
	}
	list, err := server.CreateSnapshot(ctx)
	if err != nil {
		return err
	}
	display := terminal.NewProgress(s.errScreen)
	defer display.Close()
	display.Update("creating a snapshot")
	for list.Creating {
		if err := clock.Sleep(ctx, snapshotPollInterval); err != nil {
			return err
		}
		if list, err = server.ListSnapshots(ctx); err != nil {
			return err
		}
	}
	if list.Error != "" {
		return errors.New(list.Error)
	}
	created := false // by a front, one for each share
	for _, known := range list.Snapshots {
		isKnown := slices.ContainsFunc(before.Snapshots,
			func(old wire.Snapshot) bool { return old.Name == known.Name && old.Problem == known.Problem })
		if !isKnown && known.Problem == "" {
			created = true
			if _, err := fmt.Fprintf(s.out, "%s: %d rows, %s, %d segments\n", escapeCell(known.Name), known.Rows, sizeText(known.SizeBytes),
				known.Segments); err != nil {
				return err
			}
		}
	}
	if created {
		return nil
	}
	return errors.New("the snapshot was deleted again; quarry snapshots lists those that are left")
}

type verifySnapshotCommand struct {
	configFlags
	Name string `arg:"" help:"Name of the snapshot."`
}

// Help implements kong.HelpProvider.
func (*verifySnapshotCommand) Help() string {
	return `Reads every table of a snapshot, compares sizes and checksums, and checks that the segment store has its segments. Reads the segment store of the configuration; the server may run or not.

Exit status: 0 if the snapshot can be used, 1 if not.`
}

// Run implements the command.
func (c *verifySnapshotCommand) Run(ctx context.Context, s streams) error {
	settings, logger, err := c.readSettings(s)
	if err != nil {
		return err
	}
	store, err := segmentdriver.Open(ctx, &settings, nil, logger)
	if err != nil {
		return err
	}
	m, err := snapshots.New(snapshots.Options{Store: store, TempDir: settings.TempDir(), Logger: logger, Now: time.Now}).Verify(ctx, c.Name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s can be used: %d tables with %d rows and %s, %d segments\n", m.Name, len(m.Tables), m.Rows(),
		sizeText(m.Bytes()), m.Segments)
	return err
}

type deleteSnapshotCommand struct {
	askFlags
	Name string `arg:"" help:"Name of the snapshot."`
}

// Help implements kong.HelpProvider.
func (*deleteSnapshotCommand) Help() string {
	return "Deletes a snapshot. Merged segments that only it has kept in the segment store are deleted soon afterwards."
}

// Run implements the command.
func (c *deleteSnapshotCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	if err := server.DeleteSnapshot(ctx, c.Name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s was deleted\n", escapeCell(c.Name))
	return err
}
