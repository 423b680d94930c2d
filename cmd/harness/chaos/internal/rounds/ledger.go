package rounds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// answeredOutcomes are the outcomes after which a host may forget a push. The other
// outcomes are either not final, or not allowed for a push of this suite.
var answeredOutcomes = []string{"indexed", "coalesced", "deleted", "unchanged", "absent", "refreshed"}

var errLedger = errors.New("the ledger of deliveries")

// checkLedger checks every delivery that was acknowledged since its last call: each must
// be in the ledger and have an outcome.
func (r *chaosRun) checkLedger(ctx context.Context) error {
	for i, s := range r.senders {
		for ; r.checkedDeliveries[i] < len(s.Acknowledged); r.checkedDeliveries[i]++ {
			if err := r.awaitOutcome(ctx, s.Acknowledged[r.checkedDeliveries[i]]); err != nil {
				return err
			}
			r.tally.Followed++
		}
	}
	return nil
}

// awaitOutcome waits until one delivery has its outcome. The ledger follows the log like
// the search results.
func (r *chaosRun) awaitOutcome(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, hangDeadline)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		outcomes, err := r.readOutcomes(ctx, id)
		if err == nil && len(outcomes) > 0 && !slices.ContainsFunc(outcomes, func(o string) bool { return !slices.Contains(answeredOutcomes, o) }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s has the outcomes %v: %w", errLedger, id, outcomes, errors.Join(err, ctx.Err()))
		case <-tick.C:
		}
	}
}

// readOutcomes returns the outcomes of the pushes in all deliveries with an ID.
func (r *chaosRun) readOutcomes(ctx context.Context, id string) ([]string, error) {
	data, err := r.sendRequest(ctx, r.fleet.Query(), http.MethodGet, "/api/deliveries?connection=chaos&deliveryId="+url.QueryEscape(id), nil)
	if err != nil {
		return nil, err
	}
	var page struct {
		Deliveries []struct {
			Pushes []struct{ Outcome string }
		}
	}
	if err := json.Unmarshal(data, &page); err != nil {
		return nil, fmt.Errorf("deliveries: %w", err)
	}
	var outcomes []string
	for _, d := range page.Deliveries {
		for _, p := range d.Pushes {
			outcomes = append(outcomes, p.Outcome)
		}
	}
	return outcomes, nil
}
