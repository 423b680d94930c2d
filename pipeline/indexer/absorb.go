package indexer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// The indexed state of a mirror can be behind the log: this process may have
// died between an append and what follows it, or another worker may have held
// the partition meanwhile. An event built on such a state would name a base that
// the projections do not have. So before the first record of a partition, where
// one is missing, and after an announcement that failed, what the log says is
// read and the mirrors follow it.

// absorbed remembers up to where the mirrors follow each partition.
type absorbed struct {
	mu struct {
		sync.Mutex
		// next is the record that must come next for the state to be known: the one
		// after the last that was handled.
		next map[int32]event.Offset
		// marked is the offset of the last mark of each partition.
		marked map[int32]event.Offset
		// later has the refs of which the log tells by a cause that is still to be
		// handled again. What an earlier cause would say of them, readers drop as
		// overtaken.
		later map[refKey]event.Offset
	}
}

// overtaken reports whether the log tells of a ref by a later cause already.
func (a *absorbed) overtaken(k refKey, at event.Position) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	later, ok := a.mu.later[k]
	if ok && later <= at.Offset {
		delete(a.mu.later, k)
	}
	return ok && later > at.Offset
}

func (a *absorbed) setLater(k refKey, cause event.Offset) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.later == nil {
		a.mu.later = map[refKey]event.Offset{}
	}
	a.mu.later[k] = cause
}

// continues reports whether a record follows the last one that was handled.
func (a *absorbed) continues(at event.Position) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	next, ok := a.mu.next[at.Partition]
	return ok && at.Offset == next
}

func (a *absorbed) set(partition int32, next event.Offset) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.next == nil {
		a.mu.next = map[int32]event.Offset{}
	}
	a.mu.next[partition] = next
}

// advance is set; it reports whether it is time for a mark, and then counts anew.
func (a *absorbed) advance(partition int32, next event.Offset, every int) bool {
	a.set(partition, next)
	a.mu.Lock()
	defer a.mu.Unlock()
	if last, ok := a.mu.marked[partition]; ok && next >= last && next < last+event.Offset(every) {
		return false
	}
	if a.mu.marked == nil {
		a.mu.marked = map[int32]event.Offset{}
	}
	a.mu.marked[partition] = next
	return true
}

func (a *absorbed) forget(partition int32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.mu.next, partition)
}

// refKey names a ref of a repository.
type refKey struct {
	repo code.RepositoryID
	ref  code.Ref
}

// catchUp makes the mirrors follow the log of a partition, from the last mark, or
// from its beginning, to its end: a million records take about a second.
func (x *Indexer) catchUp(ctx context.Context, at event.Position) error {
	high, err := x.o.Log.HighWater(ctx, at.Topic)
	if err != nil {
		return fmt.Errorf("catch up with the log: %w", err)
	}
	from, err := x.marked(ctx, at)
	if err != nil {
		return fmt.Errorf("catch up with the log: %w", err)
	}
	last := map[refKey]code.CommitID{}
	heads := map[code.RepositoryID]code.Ref{}
	err = x.scan(ctx, from, event.Position{Topic: at.Topic, Partition: at.Partition, Offset: high[at.Partition]}, func(ev event.Event) {
		switch ev := ev.(type) {
		case *event.RevisionIndexed:
			k := refKey{ev.Repository, ev.Ref}
			last[k] = ev.Commit
			if ev.Cause.Offset > at.Offset {
				x.absorbed.setLater(k, ev.Cause.Offset)
			}
			if ev.DefaultBranch != "" {
				heads[ev.Repository] = code.BranchRef(ev.DefaultBranch)
			}
		case *event.RepositoryRemoved:
			for k := range last {
				if k.repo == ev.Repository {
					delete(last, k)
				}
			}
		}
	}, event.TypeRevisionIndexed, event.TypeRepositoryRemoved)
	if err != nil {
		return fmt.Errorf("catch up with the log: %w", err)
	}
	for k, commit := range last {
		if err := x.follow(ctx, k, commit, heads[k.repo]); err != nil {
			return err
		}
	}
	return nil
}

// follow makes the indexed state of a ref what the log says; where the mirror
// does not have the commit, the next revision of the ref is told in full.
func (x *Indexer) follow(ctx context.Context, k refKey, commit code.CommitID, head code.Ref) error {
	m := x.o.Mirrors.Mirror(k.repo)
	if _, err := m.Repository(); errors.Is(err, code.ErrNotFound) {
		return nil // no mirror, no state
	}
	done, err := m.IndexedCommit(ctx, k.ref)
	if errors.Is(err, mirror.ErrMissing) || errors.Is(err, code.ErrNotFound) {
		return nil
	}
	if err != nil || done == commit {
		return err
	}
	x.metrics.caughtUp.Inc()
	err = m.SetIndexed(ctx, k.ref, commit, head)
	if errors.Is(err, mirror.ErrMissing) {
		err = m.SetIndexed(ctx, k.ref, "", head)
	}
	return err
}

// scan calls visit for the events of the given types in a partition, from an
// offset up to but not including a position.
func (x *Indexer) scan(ctx context.Context, from event.Offset, end event.Position, visit func(event.Event), types ...event.Type) (err error) {
	if from >= end.Offset {
		return nil
	}
	reader, err := x.o.Log.Tail(ctx, end.Topic, end.Partition, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	wanted := map[event.Type]bool{}
	for _, t := range types {
		wanted[t] = true
	}
	for {
		rec, err := reader.Next(ctx)
		if err != nil {
			return err
		}
		if rec.Position.Offset >= end.Offset {
			return nil
		}
		if wanted[event.TypeOf(rec)] {
			if _, ev, err := event.Decode(rec); err == nil {
				visit(ev)
			}
		}
		if rec.Position.Offset+1 >= end.Offset {
			return nil
		}
	}
}
