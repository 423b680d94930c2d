package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/server"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/disk"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/replay"
)

const (
	// replayPollInterval is the interval at which the progress of a replay is polled.
	replayPollInterval = 300 * time.Millisecond
	// cancelTimeout bounds the request that cancels a replay after the command was
	// interrupted.
	cancelTimeout = 5 * time.Second
)

type replayCommand struct {
	configFlags
	Projection string `placeholder:"NAME" xor:"one" complete:"catalog,places,deliveries" help:"Rebuild only this projection: catalog, places or deliveries; the others are copied."`
	To         string `placeholder:"MOMENT" xor:"past" help:"Restore the index as of this moment: a time such as 2026-03-04T05:06:07Z, or the last positions to apply, as partition/offset, separated by commas."`
	Rollback   bool   `xor:"one,past" help:"Switch back to the previous version of the index."`
	Verify     bool   `xor:"one,past" help:"Rebuild into a temporary directory, compare every key and value with the live version, and change nothing. The server must be stopped."`
	Force      bool   `help:"Switch even if the new version lacks documents that the live version has, because they were lost from the segment store."`
	Switch     bool   `help:"Confirm --to on a running server: all users will see the index as of that moment."`
	Server     string `group:"connection" placeholder:"URL" env:"QUARRY_SERVER" help:"URL of a server that replays its own index; the data directory is not touched. By default the server that runs on the data directory is asked, if there is one."`
	APIKey     string `group:"connection" name:"api-key" placeholder:"KEY" env:"QUARRY_API_KEY" help:"API key for that server. By default the command acts as the operator of the data directory."`
}

// Help implements kong.HelpProvider.
func (*replayCommand) Help() string {
	return `Builds a new version of the projections, which queries read, next to the live one and then switches to it. Works on the data directory, or through the server that runs on it. The event log is never changed. At a front, all replicas of the shards replay as well.

Examples:

	quarry replay
	quarry replay --projection places
	quarry replay --to 2026-11-20T14:00:00Z --switch
	quarry replay --rollback
	quarry replay --verify

Exit status: 0 if it succeeded, 1 if it failed; with --verify also if the live version differs from the log.`
}

// Run implements the command. It sends a request to the given server or to the one that holds the
// data directory, or works on the data directory itself if there is neither.
func (c *replayCommand) Run(ctx context.Context, s streams) error {
	if c.To != "" {
		if _, err := projections.ParseUntil(c.To); err != nil {
			return usageErrorf("--to: %v", err)
		}
	}
	if c.Server != "" && c.Verify {
		return usageErrorf("--verify reads the data directory of a stopped server: leave out --server, and unset QUARRY_SERVER")
	}
	settings, logger, err := c.readSettings(s)
	if err != nil {
		return err
	}
	if c.Server != "" {
		if err := c.replayOnline(ctx, s, &settings); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		return nil
	}
	boot.ApplyMemoryLimit(int64(settings.Runtime.MemoryLimitBytes), settings.Runtime.GCPercent)
	registry := prometheus.NewRegistry()
	r, err := server.OpenRebuild(ctx, server.Options{Config: &settings, Logger: logger, Registerer: registry, Gatherer: registry})
	switch {
	case errors.Is(err, disk.ErrHeld) && !c.Verify:
		err = c.replayOnline(ctx, s, &settings)
	case err == nil:
		err = errors.Join(c.replayOffline(ctx, s, r), r.Close())
	}
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	return nil
}

// replayOffline replays the log in the data directory of a stopped server.
func (c *replayCommand) replayOffline(ctx context.Context, s streams, r *server.OfflineRebuild) error {
	display := terminal.NewProgress(s.errScreen)
	defer display.Close()
	progress := func(done, total int64) { display.Update(fmt.Sprintf("%d of %d records", done, total)) }
	switch {
	case c.Verify:
		rows, err := r.Verify(ctx, progress)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "%d rows match a rebuild from the log\n", rows)
		return err
	case c.Rollback:
		meta, err := r.Rollback()
		if err != nil {
			return err
		}
		asOf := ""
		if meta.IsFrozen() {
			asOf = meta.Until.String()
		}
		display.Print(rollbackText(asOf))
		return nil
	}
	meta, err := r.Switch(ctx, replay.Request{Projection: c.Projection, To: c.To, Force: c.Force}, progress)
	if err != nil {
		return err
	}
	c.printResult(display, meta.Missing.Documents, true)
	return nil
}

// printResult prints the result of a replay, and how to return to the previous version if it is kept.
func (c *replayCommand) printResult(display *terminal.Progress, missing int, hasPrevious bool) {
	what := "the projections were rebuilt from the log"
	switch {
	case c.Projection != "" && c.To != "":
		what = "the projection " + c.Projection + " is as it was at " + c.To + "; the index does not follow the log"
	case c.Projection != "":
		what = "the projection " + c.Projection + " was rebuilt from the log"
	case c.To != "":
		what = "the index is as it was at " + c.To + " and does not follow the log"
	}
	if hasPrevious {
		what += "; quarry replay --rollback returns to the previous version"
	}
	display.Print(what)
	if missing > 0 {
		display.Print(fmt.Sprintf("%d documents of that time are missing from the segments and the git mirrors", missing))
	}
}

func rollbackText(asOf string) string {
	if asOf != "" {
		return "returned to the previous version, which shows the index as it was at " + asOf
	}
	return "returned to the previous version; it catches up with the log"
}

// replayOnline sends the request to the given server, or to the one that holds the data directory.
func (c *replayCommand) replayOnline(ctx context.Context, s streams, settings *config.Config) error {
	if c.To != "" && !c.Switch {
		return errors.New("all users of the server would see the index of the past; add --switch to do that, or stop the server first")
	}
	to, err := newClient(cmp.Or(c.Server, urlOf(settings)), c.APIKey, settings.Data)
	if err != nil {
		return err
	}
	var begun *wire.Replay
	if c.Rollback {
		begun, err = to.RollBackReplay(ctx)
	} else {
		begun, err = to.StartReplay(ctx, wire.ReplayRequest{Projection: c.Projection, To: c.To, Force: c.Force})
	}
	if err != nil {
		return err
	}
	display := terminal.NewProgress(s.errScreen)
	defer display.Close()
	if begun.Warning != "" {
		display.Print(begun.Warning)
	}
	ended, all, err := followReplay(ctx, to, begun.ID, display)
	if err == nil {
		err = followNodes(ctx, to, begun.Nodes, display)
	}
	switch {
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), cancelReplay(ctx, to, begun.ID))
	case err != nil:
		return err
	case c.Rollback:
		display.Print(rollbackText(all.Current.AsOf))
	default:
		c.printResult(display, ended.MissingDocuments, all.Previous.Name != "")
	}
	return nil
}

// followReplay shows the progress of a replay until it has ended.
func followReplay(ctx context.Context, to *client.Client, id int, display *terminal.Progress) (*wire.Replay, *wire.Replays, error) {
	tick := time.NewTicker(replayPollInterval)
	defer tick.Stop()
	for {
		r, all, err := replayOf(ctx, to, id)
		if err != nil {
			return nil, nil, err
		}
		switch r.State {
		case wire.ReplayStateDone:
			return r, all, nil
		case wire.ReplayStateFailed, wire.ReplayStateCanceled:
			return r, all, fmt.Errorf("the replay was not completed (%s); the live version is unchanged: %s", r.State, r.Error)
		case wire.ReplayStateSwitching:
			display.Update("switching")
		default:
			display.Update(fmt.Sprintf("%d of %d records, %.0f a second", r.Records, r.RecordsTotal, r.RecordsPerSecond))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return r, all, ctx.Err()
		}
	}
}

// maxNodePolls bounds the polls for a replica that does not answer.
const maxNodePolls = 20

// followNodes shows the progress of what the replicas of shards have begun, until each of them has
// ended. The error counts those that have not completed it, which are printed with the reason.
func followNodes(ctx context.Context, to *client.Client, begun []wire.ReplayNode, display *terminal.Progress) error {
	failed, unanswered := 0, map[string]int{}
	end := func(n *wire.ReplayNode, problem string) {
		if problem == "" {
			display.Print(fmt.Sprintf("share %s at %s: done", n.Share, n.Address))
			return
		}
		failed++
		display.Print(fmt.Sprintf("share %s at %s: not replayed: %s", n.Share, n.Address, problem))
	}
	left := map[string]int{} // IDs, by address
	for i, n := range begun {
		if n.Problem != "" {
			end(&begun[i], n.Problem)
		} else {
			left[n.Address] = n.ID
		}
	}
	tick := time.NewTicker(replayPollInterval)
	defer tick.Stop()
	for len(left) > 0 {
		all, err := to.ListReplays(ctx)
		if err != nil {
			return err
		}
		var done, total int64
		for i := range begun {
			n := &wire.ReplayNode{Share: begun[i].Share, Address: begun[i].Address, Problem: "the front does not know the replica any more"}
			id, isLeft := left[n.Address]
			if at := slices.IndexFunc(all.Nodes, func(now wire.ReplayNode) bool { return now.Address == n.Address }); at >= 0 {
				n = &all.Nodes[at]
			}
			switch ours := n.ID == id; {
			case !isLeft:
				continue
			case ours && n.State == wire.ReplayNodeStateDone:
				end(n, "")
			case ours && (n.State == wire.ReplayNodeStateFailed || n.State == wire.ReplayNodeStateCanceled):
				end(n, strings.TrimSpace(string(n.State)+" "+n.Error))
			case ours:
				done, total, unanswered[n.Address] = done+n.Records, total+n.RecordsTotal, 0
				continue
			case n.Problem != "":
				if unanswered[n.Address]++; unanswered[n.Address] <= maxNodePolls {
					continue
				}
				end(n, n.Problem)
			default:
				end(n, "the replica was restarted, or has begun another replay since")
			}
			delete(left, n.Address)
		}
		display.Update(fmt.Sprintf("%d replicas of shards: %d of %d records", len(left), done, total))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d replicas of shards were not replayed; their live versions are unchanged", failed, len(begun))
	}
	return nil
}

// replayOf returns the current state of a replay, and the list that has it.
func replayOf(ctx context.Context, to *client.Client, id int) (*wire.Replay, *wire.Replays, error) {
	all, err := to.ListReplays(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i := range all.Replays {
		if all.Replays[i].ID == id {
			return &all.Replays[i], all, nil
		}
	}
	return nil, nil, fmt.Errorf("the server has no replay %d; it may have been restarted", id)
}

// cancelReplay cancels the replay of a command that was interrupted.
func cancelReplay(ctx context.Context, to *client.Client, id int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	_, err := to.CancelReplay(ctx, id)
	return err
}
