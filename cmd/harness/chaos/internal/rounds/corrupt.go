package rounds

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// corruptRecord appends an unreadable record to quarry.events: an invalid value, an event
// of an unknown version, or an event under the key of another repository.
func (r *chaosRun) corruptRecord(ctx context.Context) (err error) {
	if r.fleet.Brokers == nil {
		// Only one process can open the embedded log.
		if err := r.fleet.Stop(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.fleet.Start(ctx)) }()
	}
	log, err := r.fleet.OpenLog(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	record, err := r.newCorruptedRecord()
	if err != nil {
		return err
	}
	positions, err := log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, record)
	if err != nil {
		return err
	}
	r.injected[positions[0].String()] = true
	return nil
}

func (r *chaosRun) newCorruptedRecord() (event.Record, error) {
	// Use IDs that belong to no repository, so that nothing depends on them.
	id, other := code.RepositoryID(r.random.Uint64()>>12|1), code.RepositoryID(r.random.Uint64()>>12|1)
	push := &event.Push{Repository: id, Ref: "refs/heads/main", Action: event.ActionUpdated, ReceivedAt: time.Now().UTC()}
	record, err := event.Encode(event.Envelope{ID: fmt.Sprintf("chaos-%d", r.random.Uint64()), Source: "/chaos", Time: time.Now().UTC()}, push)
	if err != nil {
		return record, err
	}
	switch r.random.IntN(3) {
	case 0:
		record.Value = []byte("\x00this is no event")
	case 1:
		for i, h := range record.Headers {
			if string(h.Value) == string(event.TypePush) {
				record.Headers[i].Value = []byte("dev.quarry.push.v99")
			}
		}
	default:
		record.Key = event.RecordKey(other)
	}
	return record, nil
}
