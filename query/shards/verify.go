package shards

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// frontVerification is a verification of all shards.
type frontVerification struct {
	request verification.Request
	mu      struct {
		sync.Mutex
		emit func(*verification.Finding) error
		// counts are those of each node, by name.
		counts map[string]verification.Counts
		failed error // of emit
	}
}

// Verify implements api.Verifier. All replicas compare their rows with the mirrors of their
// repositories: shares at the same time, and the replicas of a share one after another, so that a
// repair at the first one serves the others. A replica that does not is named, and counts as one that
// could not be compared.
func (f *Front) Verify(ctx context.Context, r verification.Request, emit func(*verification.Finding) error) error {
	if r.Remote {
		return fmt.Errorf("%w: a front does not list the refs of code hosts; verify without remote, or use a process with the roles pipeline and query", failure.ErrUnavailable)
	}
	if !f.verifying.TryLock() {
		return verification.ErrBusy
	}
	defer f.verifying.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v := &frontVerification{request: r}
	v.mu.emit, v.mu.counts = emit, map[string]verification.Counts{}
	var g sync.WaitGroup
	for _, s := range f.shares {
		request := r
		request.Repositories = nil
		for _, id := range r.Repositories {
			if slices.Contains(s.owned, f.o.PartitionOf(id)) {
				request.Repositories = append(request.Repositories, id)
			}
		}
		if len(r.Repositories) > 0 && len(request.Repositories) == 0 {
			continue
		}
		g.Go(func() {
			if v.verifyShare(ctx, s, request) != nil {
				cancel()
			}
		})
	}
	g.Wait()
	if err := errors.Join(v.mu.failed, ctx.Err()); err != nil {
		return err
	}
	total := v.sumLocked()
	return emit(&verification.Finding{Type: verification.Summary, Counts: &total})
}

// verifyShare has all replicas of a share compare their rows. The error is that of emit, or of ctx.
func (v *frontVerification) verifyShare(ctx context.Context, s *share, r verification.Request) error {
	replicas := s.listReplicas()
	if len(replicas) == 0 {
		return v.noteLoss(s.name+"@"+strings.Join(s.addresses, " "), errNotProbed)
	}
	for _, p := range replicas {
		node := s.name + "@" + p.Address
		err := s.findFailure(p)
		if err == nil {
			err = p.Verify(ctx, r, func(found *verification.Finding) error { return v.emitOf(node, found) })
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
		case errors.Is(err, rpc.ErrOperation):
			err = v.noteLoss(node, err)
		default:
			err = v.noteLoss(node, fmt.Errorf("the replica does not answer: %w", err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noteLoss emits that a node has not compared all of its repositories.
func (v *frontVerification) noteLoss(node string, reason error) error {
	v.mu.Lock()
	counts := v.mu.counts[node]
	counts.Unchecked++
	v.mu.counts[node] = counts
	v.mu.Unlock()
	return v.emitOf(node, &verification.Finding{Type: verification.Unchecked, Message: "its repositories: " + reason.Error()})
}

// emitOf emits a finding of a node. Counts of progress become those of all nodes.
func (v *frontVerification) emitOf(node string, found *verification.Finding) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mu.failed != nil {
		return v.mu.failed
	}
	found.Node = node
	if found.Counts != nil {
		v.mu.counts[node] = *found.Counts
	}
	switch found.Type {
	case verification.Summary:
		found.Type = verification.NodeSummary
	case verification.Progress:
		total := v.sumLocked()
		found.Counts = &total
	}
	v.mu.failed = v.mu.emit(found)
	return v.mu.failed
}

// sumLocked returns the sum of the counts of all nodes.
func (v *frontVerification) sumLocked() (total verification.Counts) {
	for _, c := range v.mu.counts {
		total.Repositories += c.Repositories
		total.Total += c.Total
		total.Refs += c.Refs
		total.Files += c.Files
		total.Differences += c.Differences
		total.Repaired += c.Repaired
		total.Unchecked += c.Unchecked
	}
	return total
}
