package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type indexCommand struct {
	askFlags
	Targets []string `arg:"" name:"path-or-url" complete:"path" help:"Repositories: directories that the server can read, or clone URLs."`
	Name    string   `placeholder:"NAME" help:"Name of the repository. By default it is derived from the path or the URL. Only for a single repository."`
	Branch  []string `placeholder:"GLOB" sep:"none" help:"Index the branches that match GLOB, in addition to the default branch. May be repeated."`
	Tag     []string `placeholder:"GLOB" sep:"none" help:"Index the tags that match GLOB. May be repeated."`
}

const (
	// pollInterval is the interval at which the status of every pending repository is
	// polled.
	pollInterval = 200 * time.Millisecond
	// serverAwayTimeout bounds the wait for a server that does not answer, for example
	// because it restarts.
	serverAwayTimeout = 2 * time.Minute
)

// Help implements kong.HelpProvider.
func (*indexCommand) Help() string {
	return `Registers repositories with the server and waits until they are searchable. Prints a line for each repository to standard error. If the server restarts, the command waits up to two minutes for it. The progress counts files with the same text once, the line at the end counts every file. If the command is interrupted, the server continues.

A server reads only paths below its --git-root. A path without a git repository, and a URL whose host does not answer or has no repository there, are not registered.

Examples:

	quarry index https://github.com/golang/example.git
	quarry index /srv/git/app.git --name app --branch 'release/*' --tag 'v1.*'

Exit status: 0 if all repositories are searchable, 1 if one failed.`
}

// Run implements the command. It exits with 1 if a repository failed, and prints one line
// for each that did.
func (c *indexCommand) Run(ctx context.Context, s streams) error {
	if c.Name != "" && len(c.Targets) > 1 {
		return usageErrorf("--name is for a single repository; leave it out, or index the repositories one by one")
	}
	server, err := c.newClient()
	if err != nil {
		return err
	}
	i := &indexRun{server: server, progress: terminal.NewProgress(s.errScreen), now: time.Now, began: time.Now(),
		awayTimeout: serverAwayTimeout}
	defer i.progress.Close()
	i.registerTargets(ctx, c)
	if ctx.Err() != nil && len(i.pending) == 0 {
		return ctx.Err()
	}
	if err := i.waitSearchable(ctx); err != nil {
		return err
	}
	if i.failed > 0 {
		return exitError(exitFailed)
	}
	return nil
}

// newRegistration turns a target into a request.
func (c *indexCommand) newRegistration(target string) (wire.RegisterRequest, error) {
	r := wire.RegisterRequest{Name: c.Name, Branches: c.Branch, Tags: c.Tag}
	if target == "" { // filepath.Abs would return the current directory
		return r, errors.New("an empty argument is neither a path nor a clone URL; write . for the current directory")
	}
	path, err := filepath.Abs(target)
	if err != nil {
		return r, err
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		r.Path = path
	case err == nil:
		return r, fmt.Errorf("%s is not a directory", target)
	case strings.Contains(target, ":"):
		r.CloneURL = target
	case errors.Is(err, fs.ErrNotExist):
		return r, fmt.Errorf("%s does not exist and is not a clone URL", target)
	default:
		return r, err
	}
	return r, nil
}

// indexRun waits until registered repositories are searchable.
type indexRun struct {
	server   *client.Client
	progress *terminal.Progress
	now      func() time.Time
	began    time.Time

	awayTimeout time.Duration
	awaySince   time.Time // zero while the server answers

	pending             []*pendingRepository
	total, done, failed int
	doneFiles           int
	lastBytes           int64
	lastAt              time.Time
	bytesPerSecond      float64
}

// pendingRepository is a repository that is not searchable yet.
type pendingRepository struct {
	target string
	*wire.Accepted
	progress wire.ImportProgress
	// selection is the last text that was printed about the selected refs.
	selection string
}

func (i *indexRun) registerTargets(ctx context.Context, c *indexCommand) {
	i.total = len(c.Targets)
	for _, target := range c.Targets {
		r, err := c.newRegistration(target)
		if err != nil {
			i.printFailure(target, err.Error())
			continue
		}
		registered, err := i.registerOne(ctx, r)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			i.printFailure(target, addAdvice(err).Error())
			continue
		}
		if m := registered.Selection.Message; m != "" {
			i.progress.Print(target + ": " + escapeCell(m))
		}
		i.pending = append(i.pending, &pendingRepository{target: target, Accepted: registered, selection: registered.Selection.Message})
	}
}

// registerOne registers a repository. It repeats a request whose response was lost,
// because registering twice does no harm. If nothing listens at the address, it fails,
// unless the server has answered before.
func (i *indexRun) registerOne(ctx context.Context, r wire.RegisterRequest) (*wire.Accepted, error) {
	for {
		registered, err := i.server.RegisterRepository(ctx, r)
		if errors.Is(err, syscall.ECONNREFUSED) && i.awaySince.IsZero() && len(i.pending) == 0 {
			return nil, err
		}
		if err := i.checkAnswer(err); err != nil || registered != nil {
			return registered, err
		}
		if err := clock.Sleep(ctx, pollInterval); err != nil {
			return nil, err
		}
	}
}

// printFailure prints the one line about a failed repository.
func (i *indexRun) printFailure(target, reason string) {
	i.failed++
	i.progress.Print(fmt.Sprintf("%s: failed: %s", target, reason))
}

// waitSearchable polls until no repository is pending. When ctx ends, it prints that the
// server continues: the events are in its log, so the user need not wait for them.
func (i *indexRun) waitSearchable(ctx context.Context) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for len(i.pending) > 0 {
		if err := i.checkAnswer(i.pollPending(ctx)); err != nil && ctx.Err() == nil {
			return fmt.Errorf("index: %w", err)
		}
		if len(i.pending) == 0 {
			break
		}
		i.progress.Update(i.progressText())
		select {
		case <-tick.C:
		case <-ctx.Done():
			i.progress.Print(fmt.Sprintf("interrupted: the server continues to index %d repositories; run the same command to wait for them again", len(i.pending)))
			return ctx.Err()
		}
	}
	return nil
}

// checkAnswer returns the error of a polling round, unless the server may come back: a
// restarted server still has the registrations. A request that an interrupt ended says
// nothing about the server.
func (i *indexRun) checkAnswer(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err == nil || !isAway(err) {
		if !i.awaySince.IsZero() {
			i.awaySince = time.Time{}
			i.progress.Print("the server answers again")
		}
		return err
	}
	if i.awaySince.IsZero() {
		i.awaySince = i.now()
		i.progress.Print(fmt.Sprintf("the server is not available; waiting up to %v for it: %v", i.awayTimeout, err))
	}
	if i.now().Sub(i.awaySince) >= i.awayTimeout {
		return fmt.Errorf("the server has been unavailable for %v; it continues once it runs again, and you can run the same command to wait for it: %w", i.awayTimeout, err)
	}
	return nil
}

// isAway reports whether an error means that the server cannot answer now: the connection
// fails or breaks, or a proxy or the server is not ready.
func isAway(err error) bool {
	e, answered := errors.AsType[*client.Error](err)
	if !answered {
		return true
	}
	return e.StatusCode == http.StatusBadGateway || e.StatusCode == http.StatusServiceUnavailable || e.StatusCode == http.StatusGatewayTimeout
}

// pollPending polls every pending repository once.
func (i *indexRun) pollPending(ctx context.Context) error {
	var still []*pendingRepository
	for n, p := range i.pending {
		status, err := i.server.GetRepositoryStatus(ctx, int64(p.RepoID))
		if unknown := new(client.Error); errors.As(err, &unknown) && unknown.StatusCode == 404 {
			// The repository is registered, but the projections have not applied the
			// event yet.
			still = append(still, p)
			continue
		}
		if err != nil {
			i.pending = append(still, i.pending[n:]...)
			return err
		}
		if p.progress = status.Progress; !i.reportFinished(p, status) {
			still = append(still, p)
		}
	}
	i.pending = still
	return nil
}

// reportFinished reports whether p has ended, and prints its outcome.
func (i *indexRun) reportFinished(p *pendingRepository, s *wire.RepositoryStatus) bool {
	if !s.AppliedPosition.Reached(p.Position) {
		return false
	}
	if s.LastError != (wire.ImportFailure{}) {
		i.printFailure(p.target, failureText(&s.LastError))
		return true
	}
	if m := s.Selection.Message; m != p.selection && (len(s.Selection.Unmatched) > 0 || s.Selection.LeftOut > 0 ||
		s.Selection.Branches.Selected > 1 || s.Selection.Tags.Selected > 0) {
		i.progress.Print(p.target + ": " + escapeCell(m))
	}
	i.done++
	i.doneFiles += s.Files
	text := fmt.Sprintf("%s: %d files", s.RepoName, s.Files)
	if s.SkippedFiles > 0 {
		text += fmt.Sprintf(", %d skipped", s.SkippedFiles)
	}
	text += fmt.Sprintf(", searchable after %.1f s", i.now().Sub(i.began).Seconds())
	if s.SkippedFiles > 0 {
		text += "; quarry skipped " + s.RepoName + " lists what is skipped"
	}
	i.progress.Print(escapeCell(text))
	return true
}

// failureText returns the reason of a failed import, its remedy and, for owners, git's
// error message.
func failureText(f *wire.ImportFailure) string {
	text := escapeCell(f.Message)
	if f.Code != "" {
		text = escapeCell(string(f.Code)) + ": " + text
	}
	if f.Detail != "" {
		text += " (" + escapeCell(f.Detail) + ")"
	}
	return text
}

// progressText returns the line of the progress display.
func (i *indexRun) progressText() string {
	files := i.doneFiles
	var bytes, total int64
	for _, p := range i.pending {
		files += p.progress.Files
		bytes += p.progress.Bytes
		total += p.progress.BytesTotal
	}
	i.updateRate(bytes)
	text := fmt.Sprintf("%d of %d repositories, %d different files read, %.1f MB/s", i.done+i.failed, i.total, files, i.bytesPerSecond/1e6)
	if total > bytes {
		text += fmt.Sprintf(", %.1f MB remaining", float64(total-bytes)/1e6)
	}
	return text
}

// updateRate updates the moving average of the rate. The bytes of a finished repository
// leave the sum; such a decrease counts as zero.
func (i *indexRun) updateRate(bytes int64) {
	now := i.now()
	if elapsed := now.Sub(i.lastAt).Seconds(); !i.lastAt.IsZero() && elapsed > 0 {
		rate := max(float64(bytes-i.lastBytes)/elapsed, 0)
		i.bytesPerSecond = 0.8*i.bytesPerSecond + 0.2*rate
	}
	i.lastBytes, i.lastAt = bytes, now
}
