package rounds

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/accounting"
	"github.com/quarrysearch/quarry/schemas/clock"
)

// bounds limits the resources of one process, by metric. The values are far above those
// observed and far below those of a leak within a run. After 16,000 pushes, a store that is
// rebuilt has a table of each of the 600 merged segments that snapshots keep.
var bounds = map[string]float64{
	"go_goroutines": 600, "process_open_fds": 2000, "quarry_places_segments": 400, "process_resident_memory_bytes": 1 << 30,
}

// These are errors of a round with correct search results.
var (
	errGrowth      = errors.New("a process holds more than its bound")
	errDeadLetters = errors.New("dead letters")
)

// checkHealth checks every process.
func (r *chaosRun) checkHealth(ctx context.Context) error {
	if err := r.fleet.Alive(); err != nil {
		return err
	}
	for _, m := range r.fleet.Members {
		figures, err := metricsOf(ctx, m.MetricsURL())
		if err != nil {
			return err
		}
		for name, bound := range bounds {
			r.tally.recordMax(name, figures[name])
			if figures[name] > bound {
				err := fmt.Errorf("%s: %w: %s is %.0f, at most %.0f", m.Name, errGrowth, name, figures[name], bound)
				return errors.Join(err, m.SaveHeap(ctx))
			}
		}
	}
	return nil
}

func metricsOf(ctx context.Context, url string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	figures := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			figures[name] = n
		}
	}
	return figures, lines.Err()
}

// compareWithRebuild compares the projections with a rebuild and reads the outcomes of
// all pushes from the log. It stops the fleet, because running workers would append
// events that only the rebuild contains. It first waits until missing segments are
// rewritten, because a rebuild lacks what the segment store lacks.
func (r *chaosRun) compareWithRebuild(ctx context.Context) error {
	if err := r.awaitSegments(ctx); err != nil {
		return err
	}
	if err := r.fleet.Stop(); err != nil {
		return err
	}
	if err := r.verifyProjections(ctx); err != nil {
		return err
	}
	if err := r.accountPushes(ctx); err != nil {
		return err
	}
	return r.fleet.Start(ctx)
}

// errSegments means that the segment store still lacks what a rebuild needs.
var errSegments = errors.New("the segment store was removed and is not complete again")

// awaitSegments waits until the query process has compared the segment store with its
// projections, since segments were lost, and nothing is missing any more.
func (r *chaosRun) awaitSegments(ctx context.Context) error {
	if r.segmentsLost.IsZero() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, hangDeadline)
	defer cancel()
	const began, unstored = "quarry_projections_store_check_timestamp_seconds", "quarry_projections_unstored_documents"
	lost := float64(r.segmentsLost.UnixNano()) / 1e9
	for {
		figures, err := metricsOf(ctx, r.fleet.Query().MetricsURL())
		if err == nil && figures[began] > lost && figures[unstored] == 0 {
			r.segmentsLost = time.Time{}
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w after %v: the last check began %.3f s after the removal and left %.0f documents: %w", errSegments, hangDeadline, figures[began]-lost, figures[unstored], errors.Join(err, ctx.Err()))
		}
		_ = clock.Sleep(ctx, pollInterval) // ctx is checked above
	}
}

// verifyProjections returns an error if the projections differ from those of a rebuild.
// It first repairs damage that no read has found.
func (r *chaosRun) verifyProjections(ctx context.Context) error {
	query := r.fleet.Query()
	_, err := query.Replay(ctx, "--verify")
	if err != nil && r.tally.Damage.hasOpen() {
		r.tally.Damage.ByVerify++
		if _, err := query.Replay(ctx); err != nil {
			return err
		}
		_, err = query.Replay(ctx, "--verify")
		return err
	}
	r.tally.Damage.closeOpen()
	r.tally.Verified++
	return err
}

// accountPushes reads the outcome of every push from the log.
func (r *chaosRun) accountPushes(ctx context.Context) (err error) {
	log, err := r.fleet.OpenLog(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	a, err := accounting.Read(ctx, log)
	if err != nil {
		return err
	}
	r.tally.Account = a
	for position, reason := range a.DeadOf {
		if !r.injected[position] {
			return fmt.Errorf("%w: %s was not injected: %s", errDeadLetters, position, reason)
		}
	}
	for position := range r.injected {
		if a.DeadOf[position] == "" {
			return fmt.Errorf("%w: %s was injected and is none", errDeadLetters, position)
		}
	}
	return nil
}
