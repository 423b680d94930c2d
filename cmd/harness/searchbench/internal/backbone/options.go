package backbone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/brokers"
	"github.com/quarrysearch/quarry/projections/segmentstore/s3test"
)

// Log is a kind of event log to measure on.
type Log string

// These are the kinds of logs: in the server's process, on one broker, on one broker with the
// segments in a bucket, and on three brokers that replicate everything.
const (
	Embedded     Log = "embedded"
	OneBroker    Log = "kafka1"
	WithBucket   Log = "kafka1s3"
	ThreeBrokers Log = "kafka3"
)

// Logs contains all kinds.
var Logs = []Log{Embedded, OneBroker, WithBucket, ThreeBrokers}

// ErrLog is returned for an unknown log.
var ErrLog = errors.New("no such log")

func (l Log) brokerCount() int {
	switch l {
	case OneBroker, WithBucket:
		return 1
	case ThreeBrokers:
		return 3
	}
	return 0
}

// Options are the options of the experiments. Quarry, Corpora, Manifest, Work and Log are
// required.
type Options struct {
	Quarry   *engine.Quarry
	Corpora  string
	Manifest corpus.Manifest
	// Work contains repositories and data. Reuse keeps the repositories of an earlier
	// run.
	Work  string
	Reuse bool
	Logs  []Log
	// KafkaLibs is the directory with the brokers' jars. If it is empty, brokers.Find
	// looks for it.
	KafkaLibs string
	// Pushes is the number of pushes at each of Rates, which are in pushes per second.
	Pushes int
	Rates  []float64
	// BesideBytes is the amount of text indexed in addition to Linux.
	BesideBytes int64
	// Queries are sent in turn during the pushes, QueryRate per second.
	Queries   []engine.Request
	QueryRate float64
	// Backlog is the number of waiting pushes, spread over Repositories repositories.
	// OneByOne is the number of pushes after them.
	Backlog, Repositories, OneByOne int
	// SettleTime is the time without a merge after which a server counts as settled.
	// Default: engine.SettleTime.
	SettleTime time.Duration
	Log        func(format string, args ...any)
}

// pollEvery is the pause between two queries for a word.
const pollEvery = 3 * time.Millisecond

func (o *Options) gitPath(name string) string  { return filepath.Join(o.Work, "git", name) }
func (o *Options) dataPath(name string) string { return filepath.Join(o.Work, "data-"+name) }

// allowedRoots returns the folders from which a server may read repositories.
func (o *Options) allowedRoots() []string {
	return []string{o.gitPath(""), filepath.Join(o.Corpora, "git")}
}

// backend is what a server needs for a kind of log: the fields are nil if it needs none.
type backend struct {
	brokers *brokers.Cluster
	bucket  *s3test.Server
}

// Close stops the servers.
func (b *backend) Close() error {
	if b.bucket != nil {
		b.bucket.Stop()
	}
	if b.brokers != nil {
		return b.brokers.Close()
	}
	return nil
}

// startLog starts what a log needs, and returns the server to run on it.
func (o *Options) startLog(ctx context.Context, l Log) (*engine.Quarry, *backend, error) {
	b := &backend{}
	if l == Embedded {
		return o.Quarry, b, nil
	}
	quarry := *o.Quarry
	dir, objects := o.dataPath(string(l)+"-brokers"), o.dataPath(string(l)+"-bucket")
	err := errors.Join(os.RemoveAll(dir), os.RemoveAll(objects))
	if err == nil {
		b.brokers, err = brokers.Start(ctx, brokers.Options{Dir: dir, Libs: o.KafkaLibs, Nodes: l.brokerCount()})
	}
	if err != nil {
		return nil, nil, err
	}
	quarry.Settings = append(slices.Clone(o.Quarry.Settings), "log.driver=kafka", "log.kafka.brokers="+strings.Join(b.brokers.Addresses, ","),
		fmt.Sprintf("log.kafka.replicationFactor=%d", l.brokerCount()))
	if l == WithBucket {
		if b.bucket, err = s3test.Open(ctx, objects); err != nil {
			return nil, nil, errors.Join(err, b.brokers.Close())
		}
		quarry.Settings = append(quarry.Settings, b.bucket.Settings("segments")...)
	}
	return &quarry, b, nil
}

// waitSettled waits until merges have ended.
func (o *Options) waitSettled(ctx context.Context, s *engine.QuarryServer) error {
	settled, err := s.Settle(ctx, cmp.Or(o.SettleTime, engine.SettleTime))
	if err == nil && !settled {
		o.Log("quarry: still merging")
	}
	return err
}
