package server

import (
	"context"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/schemas/event"
)

// openLog opens the event log that the configuration chooses.
func openLog(ctx context.Context, o Options) (eventlog.Log, error) {
	if o.Config.Log.Driver == "kafka" {
		return openKafka(ctx, o)
	}
	log, err := openEmbedded(o)
	if err != nil {
		return nil, err // avoid a typed nil in the interface
	}
	return log, nil
}

func openEmbedded(o Options) (*embeddedlog.Log, error) {
	c := o.Config
	return embeddedlog.Open(c.LogDir(), embeddedlog.Options{
		Partitions:   int32(c.Log.Partitions),
		CacheBytes:   int64(c.Cache.LogBytes),
		MinFreeBytes: uint64(c.Storage.MinFreeBytes), DiskFull: o.diskFull,
		Logger:     o.Logger,
		Registerer: o.Registerer,
	})
}

// tailer is the log as the projections read it: the same methods, except for the
// name of the reader's type.
type tailer struct{ eventlog.Log }

var _ projections.Tailer = tailer{}

// Tail implements projections.Tailer.
func (t tailer) Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (projections.Reader, error) {
	return t.Log.Tail(ctx, topic, partition, from)
}
