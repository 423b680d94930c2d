package precise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections/scip"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/lru"
)

// Errors of uploads. Upload also returns scip.ErrInvalid, scip.ErrTooLarge, and errors of
// package source and of the log.
var (
	// ErrBusy reports that too many uploads are in progress.
	ErrBusy = errors.New("too many uploads at once")
	// ErrFull reports that the precise indexes of all repositories use all the space
	// allowed.
	ErrFull = errors.New("no space for precise indexes")
)

// Defaults and bounds of Options.
const (
	DefaultKeep           = 3
	DefaultMaxUploadBytes = 1 << 30
	DefaultMaxTotalBytes  = 20 << 30
	// MaxUploadTime bounds an upload, from its first byte to its event.
	MaxUploadTime = 10 * time.Minute
	// maxUploads bounds the concurrent uploads.
	maxUploads = 2
	// sweepInterval is the time between sweeps. sweepAge is the minimum age of an
	// unreferenced object that Sweep deletes: no upload takes that long.
	sweepInterval = 5 * time.Minute
	sweepAge      = 2 * MaxUploadTime
	// readerBytes bounds the memory of open readers.
	readerBytes = 128 << 20
)

// Uploads lists the precise indexes of the repositories.
type Uploads interface {
	// Uploads returns the indexes of a repository, newest first. The caller must not
	// modify the slice.
	Uploads(id code.RepositoryID) []event.ScipUploaded
	// AllUploads returns the indexes of all repositories.
	AllUploads() map[code.RepositoryID][]event.ScipUploaded
}

// Log announces uploads and deletions.
type Log interface {
	// Announce appends the event. It returns once the event is durable and Uploads shows
	// it, or stops waiting for Uploads after a time limit.
	Announce(ctx context.Context, ev event.Event) (event.Position, error)
	// CatchUp returns once Uploads shows everything that is in the log now.
	CatchUp(ctx context.Context) error
}

// Files reads the files of a commit; source.Browser is one.
type Files interface {
	// Resolve returns the revision that a name refers to.
	Resolve(ctx context.Context, r *code.Repository, name string) (source.Revision, error)
	// File returns a file at a revision.
	File(ctx context.Context, r *code.Repository, name, path string) (source.File, error)
}

// Options configure a Store. Uploads, Log, Files, Objects and Directory are required.
type Options struct {
	Uploads Uploads
	Log     Log
	Files   Files
	Objects segmentstore.Store
	// Directory holds unfinished files.
	Directory string
	// Keep is the number of uploads that a repository keeps for each path and tool; at
	// most event.MaxScipUploads.
	Keep int
	// MaxUploadBytes bounds an upload, MaxTotalBytes all objects together.
	MaxUploadBytes, MaxTotalBytes int64
	// Packages maps a package, as manager, blank and name, to the full name of the
	// repository that owns it. A name may end with *, which stands for any text.
	Packages   map[string]string
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Store keeps the precise indexes of all repositories.
type Store struct {
	o       Options
	metrics *metrics
	slots   chan struct{} // bounds concurrent uploads
	mu      struct {
		sync.Mutex
		readers *lru.Cache[string, *scip.Reader]
		// opened holds the names of the readers, for closeUnnamed.
		opened map[string]bool
	}
}

// New returns a Store. It empties the directory of the Store.
func New(o Options) (*Store, error) {
	if o.Uploads == nil || o.Log == nil || o.Files == nil || o.Objects == nil || o.Directory == "" {
		return nil, errors.New("precise: want uploads, a log, files, objects and a directory")
	}
	setDefault(&o.Keep, DefaultKeep)
	setDefault(&o.MaxUploadBytes, DefaultMaxUploadBytes)
	setDefault(&o.MaxTotalBytes, DefaultMaxTotalBytes)
	setDefault(&o.Logger, slog.New(slog.DiscardHandler))
	if err := errors.Join(os.RemoveAll(o.Directory), os.MkdirAll(o.Directory, 0o700)); err != nil {
		return nil, fmt.Errorf("precise: %w", err)
	}
	s := &Store{o: o, slots: make(chan struct{}, maxUploads)}
	s.mu.readers = lru.New[string, *scip.Reader](readerBytes)
	s.mu.opened = map[string]bool{}
	s.metrics = newMetrics(o.Registerer, s)
	return s, nil
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// totalBytes returns the size of all objects that an upload references.
func (s *Store) totalBytes() (total int64) {
	for _, uploads := range s.o.Uploads.AllUploads() {
		for i := range uploads {
			total += uploads[i].SizeBytes
		}
	}
	return total
}

// open returns the reader of an upload.
func (s *Store) open(ctx context.Context, u *event.ScipUploaded) (*scip.Reader, error) {
	s.mu.Lock()
	r, ok := s.mu.readers.Get(u.Object)
	s.mu.Unlock()
	if ok {
		return r, nil
	}
	r, err := s.openObject(ctx, u.Object)
	if err != nil {
		s.metrics.failures.Inc()
		return nil, fmt.Errorf("open the precise index %s: %w", u.Object, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.readers.Put(u.Object, r, r.MemoryBytes()+minReaderBytes)
	s.mu.opened[u.Object] = true
	return r, nil
}

// minReaderBytes is the minimum cost of a reader: it holds an open file, and at most 128
// may be open.
const minReaderBytes = 1 << 20

// openObject opens an object. It removes the name of the file from the directory
// immediately; the file is closed when the reader is garbage collected.
func (s *Store) openObject(ctx context.Context, name string) (*scip.Reader, error) {
	dir, err := os.MkdirTemp(s.o.Directory, "read-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "object")
	if err := s.o.Objects.Fetch(ctx, name, path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		var r *scip.Reader
		if r, err = scip.Open(f, info.Size()); err == nil {
			return r, nil
		}
	}
	return nil, errors.Join(err, f.Close())
}

// Run deletes unreferenced objects until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if err := s.Sweep(ctx, now.Add(-sweepAge)); err != nil && ctx.Err() == nil {
				s.o.Logger.WarnContext(ctx, "cannot delete unreferenced precise indexes; retrying", "error", err)
			}
		}
	}
}

// Sweep deletes the objects that are older than before and that no repository references.
func (s *Store) Sweep(ctx context.Context, before time.Time) error {
	var old []string
	for object, err := range s.o.Objects.List(ctx) {
		if err != nil {
			return fmt.Errorf("list precise indexes: %w", err)
		}
		if _, ok := segmentstore.ParseScipName(object.Name); ok && object.ModTime.Before(before) {
			old = append(old, object.Name)
		}
	}
	named := s.namedObjects()
	unnamed := old[:0]
	for _, name := range old {
		if !named[name] {
			unnamed = append(unnamed, name)
		}
	}
	s.closeUnnamed(named)
	if len(unnamed) == 0 {
		return nil
	}
	if err := s.o.Log.CatchUp(ctx); err != nil {
		return fmt.Errorf("wait for the catalog: %w", err)
	}
	named = s.namedObjects()
	for _, name := range unnamed {
		if named[name] {
			continue
		}
		if err := s.o.Objects.Delete(ctx, name); err != nil {
			return fmt.Errorf("delete a precise index: %w", err)
		}
		s.o.Logger.InfoContext(ctx, "unreferenced precise index deleted", "object", name)
	}
	return nil
}

func (s *Store) namedObjects() map[string]bool {
	named := map[string]bool{}
	for _, uploads := range s.o.Uploads.AllUploads() {
		for i := range uploads {
			named[uploads[i].Object] = true
		}
	}
	return named
}

// closeUnnamed drops the readers of unreferenced objects.
func (s *Store) closeUnnamed(named map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.mu.opened {
		if !named[name] {
			s.mu.readers.Delete(name)
			delete(s.mu.opened, name)
		}
	}
}

// Uploads returns the precise indexes of a repository, newest first.
func (s *Store) Uploads(id code.RepositoryID) []event.ScipUploaded { return s.o.Uploads.Uploads(id) }
