package logdriver

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
)

// Options are the options of Open. Config and Logger are required.
type Options struct {
	Config *config.Config
	Logger *slog.Logger
	// Registerer registers the metrics; nil registers none.
	Registerer prometheus.Registerer
	// DiskFull is called when the embedded log cannot write because the disk is full. It
	// may be nil.
	DiskFull func()
}

// Open opens the event log that the configuration chooses.
func Open(ctx context.Context, o Options) (eventlog.Log, error) {
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
		MinFreeBytes: uint64(c.Storage.MinFreeBytes), DiskFull: o.DiskFull,
		Logger:     o.Logger,
		Registerer: o.Registerer,
	})
}
