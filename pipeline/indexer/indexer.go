package indexer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/changeset"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// source is the CloudEvents source of the events of this package.
const source = "/quarry/indexer"

// Log is the part of an event log that an Indexer uses.
type Log interface {
	Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error)
	Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (eventlog.Reader, error)
	HighWater(ctx context.Context, topic event.Topic) ([]event.Offset, error)
}

// Options configures an Indexer. Log, Mirrors, Analyzer and Segments are required.
type Options struct {
	Log      Log
	Mirrors  *mirror.Mirrors
	Analyzer *analyze.Analyzer
	Segments segmentstore.Store
	// TempDir is where segments are written before they are stored. If it is on the file
	// system of a Directory, they are moved rather than copied. Default os.TempDir.
	TempDir string
	// MaxBlobBytes is the limit of the analyzer; larger blobs are not read. Default
	// analyze.DefaultMaxBlobBytes.
	MaxBlobBytes int64
	// MaxFiles bounds the files that differ between two commits. Each takes about 600
	// bytes of memory. Default changeset.MaxChanges.
	MaxFiles int
	// SegmentBytes is the text of the largest segment. Default
	// segment.DefaultMaxTextBytes.
	SegmentBytes int64
	// Slots bounds the large segments that the process builds concurrently. Default: the
	// number of processors.
	Slots *segment.Slots
	// Moved is called when the host of a repository redirects to another clone URL. Its
	// registration should be changed, because each fetch first asks the former one.
	// Optional.
	Moved func(id code.RepositoryID)
	// Now is the clock, for IndexedAt and the progress of jobs. Default time.Now.
	Now        func() time.Time
	Tracer     *tracing.Tracer // continues the traces of pushes; nil traces nothing
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (o *Options) ensureDefaults() error {
	if o.Log == nil || o.Mirrors == nil || o.Analyzer == nil || o.Segments == nil {
		return errors.New("indexer: Options need Log, Mirrors, Analyzer and Segments")
	}
	if o.TempDir == "" {
		o.TempDir = os.TempDir()
	}
	if o.MaxBlobBytes <= 0 {
		o.MaxBlobBytes = analyze.DefaultMaxBlobBytes
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = changeset.MaxChanges
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = segment.DefaultMaxTextBytes
	}
	if o.Slots == nil {
		o.Slots = segment.NewSlots(runtime.GOMAXPROCS(0), nil)
	}
	if o.Moved == nil {
		o.Moved = func(code.RepositoryID) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return nil
}

// Indexer implements worker.Handler.
type Indexer struct {
	o               Options
	smallBuildSlots *segment.Slots // for segments below segment.SmallBytes
	partitions      partitions
	families        families
	// markEvery is the constant markEvery except in tests.
	markEvery int
	// smallBuilders are those of smallBuildSlots.
	smallBuilders *sync.Pool
	jobs          jobs
	metrics       *metrics
}

var _ worker.Handler = (*Indexer)(nil)

// New returns an Indexer.
func New(o Options) (*Indexer, error) {
	if err := o.ensureDefaults(); err != nil {
		return nil, err
	}
	x := &Indexer{o: o, smallBuildSlots: segment.NewSlots(smallSlots, nil), smallBuilders: newBuilders(), metrics: newMetrics(o.Registerer), markEvery: markEvery}
	return x, nil
}

// Wants implements worker.Handler. It includes records that no stage can read, so that
// Handle refuses them.
func (x *Indexer) Wants(rec event.Record) bool {
	return event.ForWorkers(event.TypeOf(rec))
}

// IsImport reports whether a record may require the import of a whole repository, which
// can take many minutes.
func IsImport(rec event.Record) bool {
	return event.TypeOf(rec) == event.TypeRepositoryRegistered || event.SourceOf(rec) == event.RepairSource
}

// Handle implements worker.Handler. It handles consecutive pushes as one group.
func (x *Indexer) Handle(ctx context.Context, records []event.Record) (int, error) {
	at := records[0].Position
	_, ev, err := event.Decode(records[0])
	if err != nil {
		return 1, fmt.Errorf("%w: %w", worker.ErrPermanent, err)
	}
	if removal, ok := ev.(*event.RepositoryRemoved); ok {
		return 1, classifyError(x.removeMirror(ctx, removal, at))
	}
	n, handle := 1, func(job *job) error { return x.handleEvent(ctx, ev, at, job) }
	if p, ok := ev.(*event.Push); ok {
		g := groupPushes(p, records)
		n, handle = len(g.pushes), func(job *job) error { return x.handlePushes(ctx, g, job) }
	}
	if p, ok := ev.(*event.PinsChanged); ok {
		ev, at, n = latestPins(p, records)
	}
	ctx, span := x.startSpan(ctx, records[:n])
	job := &job{report: func() { worker.ReportProgress(ctx) }, now: x.o.Now}
	job.logProgress = func() { x.logProgress(ev.Key(), job) }
	x.jobs.beginJob(ev.Key(), job)
	err = classifyError(x.handleWithMirror(ctx, ev.Key(), job, func() error {
		if err := x.catchUpRepository(ctx, ev.Key(), at); err != nil {
			return err
		}
		return handle(job)
	}))
	x.jobs.endJob(ev.Key(), job, err, x.o.Now())
	span.End(err)
	return n, err
}

// startSpan continues the traces of records.
func (x *Indexer) startSpan(ctx context.Context, records []event.Record) (context.Context, tracing.Span) {
	var parents []string
	for _, rec := range records {
		parents = append(parents, event.TraceOf(rec))
	}
	ctx, span := x.o.Tracer.StartBatch(ctx, parents, "process "+string(event.TopicEvents))
	span.SetWord("messaging.destination.name", string(event.TopicEvents))
	span.SetWord("messaging.operation.type", "process")
	span.SetInt("messaging.batch.message_count", int64(len(records)))
	span.SetWord("quarry.event_type", string(event.TypeOf(records[0])))
	span.SetWord("quarry.position", records[0].Position.String())
	return ctx, span
}

// handleWithMirror calls handle. If the existing mirror is damaged, it recreates the
// mirror and calls handle again. It does not retry with a mirror that was just fetched,
// because the repository itself then lacks the objects.
func (x *Indexer) handleWithMirror(ctx context.Context, repo code.RepositoryID, job *job, handle func() error) error {
	m := x.o.Mirrors.Mirror(repo)
	if !m.Exists() {
		job.skipUnreadable = true
		return handle()
	}
	err := handle()
	if err == nil {
		return nil
	}
	reset, resetErr := m.ResetDamaged(ctx, err)
	if resetErr != nil {
		return errors.Join(err, resetErr)
	}
	if !reset && !errors.Is(err, errUnreadableBlob) {
		return err
	}
	job.skipUnreadable = true
	return handle()
}

func (x *Indexer) handleEvent(ctx context.Context, ev event.Event, at event.Position, job *job) error {
	switch ev := ev.(type) {
	case *event.RepositoryRegistered:
		return x.handleRegistration(ctx, ev.Repository, indexRequest{cause: sameCause(cause{position: at, receivedAt: ev.At}), first: true}, job)
	case *event.RepositoryChanged:
		return x.handleRegistration(ctx, ev.Repository, indexRequest{cause: sameCause(cause{position: at, receivedAt: ev.At})}, job)
	case *event.ErasureRequested:
		return x.eraseText(ctx, ev, at, job)
	case *event.PinsChanged:
		return x.handlePins(ctx, ev, at, job)
	}
	return nil
}

// IsRemoval reports whether a record removes its repository, which makes its earlier
// records irrelevant.
func IsRemoval(rec event.Record) bool { return event.TypeOf(rec) == event.TypeRepositoryRemoved }

// Name returns the name of the repository of a record, from a registration or from the
// mirror, or an empty string.
func (x *Indexer) Name(rec event.Record) string {
	switch _, ev, _ := event.Decode(rec); ev := ev.(type) {
	case *event.RepositoryRegistered:
		return ev.Repository.Name
	case *event.RepositoryChanged:
		return ev.Repository.Name
	}
	id, ok := event.RepositoryOfKey(rec.Key)
	if !ok {
		return ""
	}
	r, err := x.o.Mirrors.Mirror(id).Repository()
	if err != nil {
		return "" // it was never fetched
	}
	return r.Name
}

// classifyError wraps an error for the worker, which decides by it whether to retry.
func classifyError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, mirror.ErrRefused), errors.Is(err, mirror.ErrTooLarge), errors.Is(err, mirror.ErrUnauthorized),
		errors.Is(err, mirror.ErrNoDefaultBranch):
		return fmt.Errorf("%w: %w", worker.ErrPermanent, err)
	case errors.Is(err, mirror.ErrDiskFull), isDiskFull(err):
		return fmt.Errorf("%w: %w", worker.ErrUnavailable, err)
	case errors.Is(err, mirror.ErrUnreachable), errors.Is(err, mirror.ErrTimeout):
		return fmt.Errorf("%w: %w", worker.ErrElsewhere, err)
	}
	return err
}
