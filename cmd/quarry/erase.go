package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// erasePollInterval is the interval at which the progress of an erasure is polled.
const erasePollInterval = 300 * time.Millisecond

type eraseCommand struct {
	askFlags
	Repository string        `arg:"" complete:"repository" help:"Full name or ID of the repository."`
	Commit     string        `placeholder:"ID" help:"Erase this commit, which no branch or tag reaches any more, and keep the repository. The full ID is required."`
	Path       string        `placeholder:"PATH" help:"Erase every version of this file, or of everything below this directory, and keep the repository. It must not be in any commit that a branch or tag reaches: rewrite the history at the code host first."`
	Yes        bool          `help:"Confirm the erasure: it cannot be undone."`
	Wait       time.Duration `placeholder:"TIME" default:"1h" help:"Maximum time to wait. The erasure continues without the command. The default is ${default}."`
	JSON       bool          `help:"Print the erasure as a JSON object."`
}

// Help implements kong.HelpProvider.
func (*eraseCommand) Help() string {
	return `For the right to be forgotten: removes a repository, deletes its text from every file of the data directory, and waits until that is done. With --commit, erases a commit that was removed by a force push or with a branch. With --path, erases every version of a file or directory that was removed from the history. The event log, the audit log and backups are not changed; docs/erasure.md explains what they contain and how to remove it.

Examples:

	quarry erase github.com/meadow/kettle --yes
	quarry erase kettle --commit 2b7e151628aed2a6abf7158809cf4f3c762e7160 --yes
	quarry erase kettle --path deploy/secrets --yes

Exit status: 0 if the erasure is complete, 1 if it failed or did not complete in time.`
}

// Run implements the command.
func (c *eraseCommand) Run(ctx context.Context, s streams) error {
	if !c.Yes {
		return usageErrorf("an erasure cannot be undone; confirm it with --yes")
	}
	server, err := c.newClient()
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(c.Repository, 10, 64)
	if err != nil {
		found, err := findRepository(ctx, server, c.Repository)
		if err == nil && found.RepoName != c.Repository { // only the full name: an erasure cannot be undone
			err = unknownRepository(c.Repository, []string{found.RepoName})
		}
		if err != nil {
			return err
		}
		id = int64(found.RepoID)
	}
	begun, err := server.EraseRepository(ctx, id, wire.EraseRequest{Commit: c.Commit, Path: c.Path})
	if err != nil {
		return err
	}
	display := terminal.NewProgress(s.errScreen)
	defer display.Close()
	ended, err := c.followErasure(ctx, server, begun, display)
	if err != nil {
		return err
	}
	ended.RepoName, ended.SharedFiles = begun.RepoName, begun.SharedFiles
	if c.JSON {
		err = printJSONLines(s.out, []*wire.Erasure{ended})
	} else {
		printErasure(display, ended)
	}
	if err == nil && ended.State == wire.ErasureStateFailed {
		err = fmt.Errorf("the erasure failed: %s", escapeCell(ended.Error))
	}
	return err
}

// followErasure shows the progress of an erasure until it has ended.
func (c *eraseCommand) followErasure(ctx context.Context, server *client.Client, begun *wire.Erasure, display *terminal.Progress) (*wire.Erasure, error) {
	waiting, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	tick := time.NewTicker(erasePollInterval)
	defer tick.Stop()
	var last *wire.Erasure
	for {
		e, err := erasureWith(waiting, server, begun.ID)
		if ctx.Err() == nil && waiting.Err() != nil {
			return nil, fmt.Errorf("erasure %s did not complete within %s and continues; GET /api/erasures shows its progress%s", begun.ID, c.Wait, waitingNodes(last))
		}
		if err != nil {
			return nil, err
		}
		switch {
		case e == nil: // the projections have not read the event yet
		case e.State != wire.ErasureStateErasing:
			return e, nil
		default:
			last = e
			display.Update(erasureProgress[e.WaitsFor] + waitingNodes(e))
		}
		select {
		case <-tick.C:
		case <-waiting.Done():
		}
	}
}

var erasureProgress = map[wire.ErasureWaitsFor]string{
	wire.ErasureWaitsForWorkers: "waiting for the workers", wire.ErasureWaitsForSegments: "rewriting segments",
	wire.ErasureWaitsForReplay: "waiting for a replay", wire.ErasureWaitsForShards: "waiting for shards that do not answer", "": "rewriting rows",
}

// waitingNodes names the replicas of shards that have not finished an erasure.
func waitingNodes(e *wire.Erasure) (text string) {
	if e == nil {
		return ""
	}
	for _, n := range e.Nodes {
		if n.State != wire.ErasureNodeStateDone {
			text += fmt.Sprintf("; shard %s@%s: %s", n.Share, n.Address, escapeCell(cmp.Or(n.Problem, n.Error, string(n.WaitsFor), "not done")))
		}
	}
	return text
}

// erasureWith returns the current state of an erasure, or nil if the server does not know
// it yet.
func erasureWith(ctx context.Context, server *client.Client, id string) (*wire.Erasure, error) {
	all, err := server.ListErasures(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all.Erasures {
		if all.Erasures[i].ID == id {
			return &all.Erasures[i], nil
		}
	}
	return nil, nil
}

// printErasure prints what an erasure removed and what it could not remove.
func printErasure(display *terminal.Progress, e *wire.Erasure) {
	if e.State != wire.ErasureStateDone {
		return
	}
	what := e.RepoName
	switch {
	case e.Commit != "":
		what = "commit " + e.Commit + " of " + e.RepoName
	case e.Path != "":
		what = "path " + e.Path + " of " + e.RepoName
	}
	display.Print(fmt.Sprintf("%s is erased (%s); checked %d segments with %d bytes", escapeCell(what),
		e.EndedAt.Sub(e.RequestedAt.Time).Round(time.Millisecond), e.Proof.Segments, e.Proof.SegmentBytes))
	if e.SharedFiles > 0 {
		display.Print(fmt.Sprintf("%d texts are also in other repositories and remain there", e.SharedFiles))
	}
	if e.Proof.UnnamedSegments > 0 {
		display.Print(fmt.Sprintf("%d segments are unreferenced and may contain any text; see docs/erasure.md", e.Proof.UnnamedSegments))
	}
	if e.Proof.HeldSegments > 0 {
		display.Print(fmt.Sprintf("%d segments are kept for a replay and may contain its text; see docs/erasure.md", e.Proof.HeldSegments))
	}
	if !e.Proof.MirrorChecked {
		display.Print("the git mirror was not checked: this process has none, or the repository is registered again; see docs/erasure.md")
	}
	display.Print("the event log, the audit log and backups keep what they have; see docs/erasure.md")
}
