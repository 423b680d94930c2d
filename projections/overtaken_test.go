package projections_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// overtakenLog is a log whose records before first are deleted once a reader has one. The reader
// fails as one of brokers does, which does not say where the log begins.
type overtakenLog struct {
	*projectiontest.Log
	first event.Offset
	read  bool
}

// Tail implements projections.Tailer.
func (l *overtakenLog) Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (event.Reader, error) {
	if l.read && from < l.first {
		return nil, &event.RangeError{First: l.first, End: l.first + 1}
	}
	r, err := l.Log.Tail(ctx, topic, partition, from)
	return &overtakenReader{r, l}, err
}

type overtakenReader struct {
	event.Reader
	log *overtakenLog
}

// Next implements event.Reader.
func (r *overtakenReader) Next(ctx context.Context) (event.Record, error) {
	if r.log.read {
		return event.Record{}, fmt.Errorf("%w: fetch from a broker", event.ErrOffsetOutOfRange)
	}
	r.log.read = true
	return r.Reader.Next(ctx)
}

// TestRetentionOvertakesAReader deletes records that projections have not read while they run: the
// error says what was lost and what to do.
func TestRetentionOvertakesAReader(t *testing.T) {
	log := &overtakenLog{Log: projectiontest.NewLog(1), first: 7}
	log.Add(rawRecords(0, 0, "a", "b", "c")...)
	r, err := projections.New(projections.Options{
		Store: openMemory(t), Log: log, Decoder: projections.NewDecoder(nil), Projections: []projections.Projection{&scripted{}},
	})
	must(t, err)
	err = r.Run(t.Context())
	if !errors.Is(err, projections.ErrBeginningLost) || !strings.Contains(err.Error(), "record 1 of quarry.events, and the log begins at record 7") {
		t.Errorf("%v, want %v with the records", err, projections.ErrBeginningLost)
	}
}
