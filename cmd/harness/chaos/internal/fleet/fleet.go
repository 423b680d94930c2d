package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/chaos/internal/host"
	"github.com/quarrysearch/quarry/cmd/internal/loopback"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/brokers"
	"github.com/quarrysearch/quarry/projections/segmentstore/s3test"
)

// Setup is a way to run Quarry.
type Setup string

// These are the setups: one process on the embedded log; four processes on one broker, or
// on three; five on one broker, with two query processes, the segments in a bucket, and
// snapshots; and the same with one query process that holds everything, four shards (two shares
// with two replicas each) and a front.
const (
	Embedded     Setup = "embedded"
	OneBroker    Setup = "kafka1"
	ThreeBrokers Setup = "kafka3"
	InBucket     Setup = "bucket"
	Sharded      Setup = "sharded"
)

// Setups contains all setups.
var Setups = []Setup{Embedded, OneBroker, ThreeBrokers, InBucket, Sharded}

// Options are the options of Open. Quarry, Dir, Setup and Log are required.
type Options struct {
	// Quarry is the path of the binary, built with the tag quarrychaos for clock jumps.
	Quarry string
	Setup  Setup
	// Dir contains everything. It must be empty or not exist.
	Dir       string
	KafkaLibs string
	Log       func(format string, args ...any)
}

// secret signs the deliveries.
var secret = []byte("a secret of the chaos suite")

// Fleet is a running installation.
type Fleet struct {
	Members []*Member
	// Brokers is nil with the embedded log.
	Brokers *brokers.Cluster
	// Bucket is the S3 server of the setups InBucket and Sharded, or nil.
	Bucket *s3test.Server
	// Disk is the file system of the data, or nil if none could be mounted.
	Disk *Disk

	o        Options
	dir      string
	config   string
	clock    string
	offset   atomic.Int64 // in seconds
	settings []string
}

// Open starts the brokers and writes the configuration, but starts no member.
func Open(ctx context.Context, o Options) (_ *Fleet, err error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	f := &Fleet{o: o, dir: dir, config: filepath.Join(dir, "quarry.yaml"), clock: filepath.Join(dir, "clock")}
	for _, d := range []string{f.RepositoriesDir(), f.storeDir()} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	if f.Disk, err = mountDisk(f.storeDir(), diskBytes(o.Setup)); err != nil && !errors.Is(err, ErrNoDisk) {
		return nil, err
	}
	if err := f.writeConfig(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := f.planMembers(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// RepositoriesDir returns the directory from which repositories may be read.
func (f *Fleet) RepositoriesDir() string { return filepath.Join(f.dir, "git") }

func (f *Fleet) storeDir() string { return filepath.Join(f.dir, "store") }

// writeConfig writes the configuration as JSON, which is valid YAML. Reconciliation is
// off, because it would hide lost webhooks. The memory setting is below the limit of the
// rounds, however much memory the machine has.
func (f *Fleet) writeConfig() error {
	text, err := json.MarshalIndent(map[string]any{
		"git":      map[string]any{"allowedRoots": []string{f.RepositoriesDir()}},
		"pipeline": map[string]any{"reconcileInterval": "0s", "builders": 1},
		"cache":    map[string]any{"framesBytes": "32MiB", "blocksBytes": "16MiB"},
		"runtime":  map[string]any{"memoryBytes": "768MiB", "pprof": true},
		"connections": []any{map[string]any{
			"name": "chaos", "kind": "genericGitHost", "secrets": []string{host.Secret(secret)},
		}},
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(f.config, text, 0o600)
}

// snapshotInterval is the interval of the setups with a bucket, a few rounds.
const snapshotInterval = 15 * time.Second

// Roles of members.
const (
	roleQuery    = "query"
	rolePipeline = "pipeline"
)

// planMembers creates the members of the setup, and starts the brokers.
func (f *Fleet) planMembers(ctx context.Context) (err error) {
	if f.o.Setup == Embedded {
		f.Members = []*Member{f.newMember("all", "")}
		return nil
	}
	n := 1
	if f.o.Setup == ThreeBrokers {
		n = 3
	}
	if f.Brokers, err = brokers.Start(ctx, brokers.Options{Dir: filepath.Join(f.dir, "brokers"), Libs: f.o.KafkaLibs, Nodes: n}); err != nil {
		return err
	}
	f.settings = []string{
		"log.driver=kafka", "log.kafka.brokers=" + strings.Join(f.Brokers.Addresses, ","), fmt.Sprintf("log.kafka.replicationFactor=%d", n),
	}
	f.Members = []*Member{f.newMember("query", roleQuery)}
	if f.o.Setup == InBucket || f.o.Setup == Sharded {
		if f.Bucket, err = s3test.Open(ctx, filepath.Join(f.dir, "bucket")); err != nil {
			return err
		}
		f.settings = append(append(f.settings, f.Bucket.Settings("fleet")...), "snapshots.interval="+snapshotInterval.String())
		if f.o.Setup == InBucket {
			f.Members = append(f.Members, f.newMember("query-b", roleQuery))
		} else if err := f.planShards(); err != nil {
			return err
		}
	} else {
		f.settings = append(f.settings, "storage.segments="+f.SegmentsDir())
	}
	f.Members = append(f.Members, f.newMember("worker-a", rolePipeline), f.newMember("worker-b", rolePipeline), f.newMember("ingest", "ingest"))
	return nil
}

// planShards creates the front and the shards of the setup Sharded.
func (f *Fleet) planShards() error {
	f.settings = append(f.settings, "access.secret="+strings.Repeat("s", 32))
	front := f.newMember("front", roleQuery)
	f.Members = append(f.Members, front)
	var peers []string
	for _, name := range []string{"0a", "0b", "1a", "1b"} {
		address, err := loopback.FreeAddress()
		if err != nil {
			return err
		}
		shard := f.newMember("shard-"+name, roleQuery)
		shard.isShard, shard.settings = true, []string{"shard.share=" + name[:1] + "/2", "shard.listen=" + address}
		f.Members, peers = append(f.Members, shard), append(peers, name[:1]+"/2@"+address)
	}
	front.settings = []string{"shard.peers=" + strings.Join(peers, ",")}
	return nil
}

func (f *Fleet) newMember(name, role string) *Member {
	return &Member{Name: name, Role: role, Data: filepath.Join(f.storeDir(), name), fleet: f}
}

// SegmentsDir returns the segment store that all members share, if it is a directory.
func (f *Fleet) SegmentsDir() string {
	if f.o.Setup == Embedded {
		return filepath.Join(f.Query().Data, "segments")
	}
	return filepath.Join(f.storeDir(), "segments")
}

// Query returns the first member that serves searches, which holds everything, Queries all of
// them, QueryNodes also the shards, Ingest the member that receives webhooks, and Workers the
// members that index.
func (f *Fleet) Query() *Member { return f.Members[0] }

// Queries is documented with Query.
func (f *Fleet) Queries() []*Member {
	return slices.DeleteFunc(f.QueryNodes(), func(m *Member) bool { return m.isShard })
}

// QueryNodes is documented with Query.
func (f *Fleet) QueryNodes() []*Member { return f.membersWith(roleQuery) }

// Ingest is documented with Query.
func (f *Fleet) Ingest() *Member { return f.Members[len(f.Members)-1] }

// Workers is documented with Query.
func (f *Fleet) Workers() []*Member { return f.membersWith(rolePipeline) }

func (f *Fleet) membersWith(role string) (out []*Member) {
	for _, m := range f.Members {
		if m.Role == role || m.Role == "" {
			out = append(out, m)
		}
	}
	return out
}

// Start starts all members that are not running, concurrently.
func (f *Fleet) Start(ctx context.Context) error {
	var launched []*Member
	for _, m := range f.Members {
		if m.Running() {
			continue
		}
		if err := m.Launch(); err != nil {
			return err
		}
		launched = append(launched, m)
	}
	for _, m := range launched {
		if err := m.Ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop stops the members, the receiver first.
func (f *Fleet) Stop() error {
	var all []error
	for i := len(f.Members) - 1; i >= 0; i-- {
		all = append(all, f.Members[i].Stop())
	}
	return errors.Join(all...)
}

// StartsAgain returns how often a start was repeated because brokers did not answer.
func (f *Fleet) StartsAgain() (n int) {
	for _, m := range f.Members {
		n += m.again
	}
	return n
}

// Alive returns an error for each member that ended on its own.
func (f *Fleet) Alive() error {
	var all []error
	for _, m := range f.Members {
		if !m.Running() {
			all = append(all, fmt.Errorf("%s: %w, with code %d: %s", m.Name, ErrEnded, m.cmd.ProcessState.ExitCode(), m.Said()))
		}
	}
	return errors.Join(all...)
}

// Close kills everything and unmounts the disk.
func (f *Fleet) Close() error {
	for _, m := range f.Members {
		m.Kill()
	}
	var all []error
	if f.Brokers != nil {
		all = append(all, f.Brokers.Close())
	}
	if f.Bucket != nil {
		f.Bucket.Stop()
	}
	if f.Disk != nil {
		all = append(all, f.Disk.Close())
	}
	return errors.Join(all...)
}

// Hook returns the destination of deliveries.
func (f *Fleet) Hook(tolerate func(status int) bool) host.Hook {
	return host.Hook{
		Secret: secret, Path: "/webhooks/genericGitHost/chaos", Clock: f.Now, Base: func() string { return f.Ingest().URL() }, Tolerate: tolerate,
	}
}

// Now returns the time of the fleet's and the host's clock.
func (f *Fleet) Now() time.Time { return time.Now().Add(time.Duration(f.offset.Load()) * time.Second) }

// MoveClock sets the clock offset of all processes.
func (f *Fleet) MoveClock(by time.Duration) error {
	seconds := int64(by / time.Second)
	if err := os.WriteFile(f.clock+".new", strconv.AppendInt(nil, seconds, 10), 0o644); err != nil {
		return err
	}
	if err := os.Rename(f.clock+".new", f.clock); err != nil {
		return err
	}
	f.offset.Store(seconds)
	return nil
}

// OpenLog opens the log. The embedded log can be opened only while its process is not
// running.
func (f *Fleet) OpenLog(ctx context.Context) (eventlog.Log, error) {
	if f.Brokers == nil {
		return embeddedlog.Open(filepath.Join(f.Query().Data, "log"), embeddedlog.Options{})
	}
	return kafkalog.Open(ctx, kafkalog.Options{Brokers: f.Brokers.Addresses})
}
