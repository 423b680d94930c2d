package indexer

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Skip implements worker.Handler. The repository of the records is removed later in the
// log: its pushes are answered as for an unregistered repository.
func (x *Indexer) Skip(ctx context.Context, records []event.Record) (int, error) {
	_, ev, err := event.Decode(records[0])
	if err != nil {
		return 1, fmt.Errorf("%w: %w", worker.ErrPermanent, err)
	}
	p, ok := ev.(*event.Push)
	if !ok {
		return 1, nil // nothing waits for an answer
	}
	g := groupPushes(p, records)
	for _, of := range g.refs {
		of.outcome = event.PushUnregistered
	}
	return len(g.pushes), x.reportOutcomes(ctx, g)
}

// reportOutcomes appends a PushesHandled for the pushes that no RevisionIndexed of their
// ref answers.
func (x *Indexer) reportOutcomes(ctx context.Context, g *pushGroup) error {
	partition := g.pushes[0].at.Partition
	ev := g.handledEvent(func(ref code.Ref) event.Offset {
		return x.partitions.lastCause(refKey{g.repo, ref}, partition)
	}, x.o.Now())
	if len(ev.Pushes) > 0 {
		if err := x.appendPushesHandled(ctx, g, ev); err != nil {
			return fmt.Errorf("tell of %d pushes that are done: %w", len(ev.Pushes), err)
		}
	}
	x.countPushes(g)
	x.logHandled(g)
	return nil
}

func (x *Indexer) appendPushesHandled(ctx context.Context, g *pushGroup, ev *event.PushesHandled) error {
	first, last := g.pushes[0].at, g.pushes[len(g.pushes)-1].at
	id := event.DerivedID(last, fmt.Sprintf("handled/%d", first.Offset))
	rec, err := event.Encode(event.Envelope{ID: id, Source: source, Time: ev.At}, ev)
	if err != nil {
		return err
	}
	_, err = x.o.Log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, rec)
	return err
}

// countPushes counts the pushes of a group by outcome.
func (x *Indexer) countPushes(g *pushGroup) {
	for _, of := range g.refs {
		n := len(of.pushes)
		if of.announced {
			x.metrics.pushes.WithLabelValues(pushCoalesced).Add(float64(n - 1))
			n = 1
		}
		x.metrics.pushes.WithLabelValues(of.metricLabel()).Add(float64(n))
	}
}

// metricLabel returns the metric label of the ref's last push.
func (of *pushedRef) metricLabel() string {
	switch {
	case of.announced && of.commit != "":
		return pushMoved
	case of.announced || of.outcome == event.PushAbsent:
		return pushDeleted
	case of.outcome == event.PushRefreshed:
		return pushRefresh
	case of.outcome == event.PushUnselected:
		return pushUnselected
	case of.outcome == event.PushUnregistered:
		return pushUnknown
	}
	return pushDone
}
