package server

import (
	"context"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/query/precise"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// openPrecise opens the precise indexes of the repositories.
func (s *Server) openPrecise(files *source.Browser) (*precise.Store, error) {
	c := s.o.Config
	packages := map[string]string{}
	for _, p := range c.Scip.Packages {
		packages[p.Package] = p.Repository
	}
	return precise.New(precise.Options{
		Uploads: scipUploads{s}, Log: scipLog{s}, Files: files, Objects: s.segments, Directory: c.ScipDir(),
		Keep: min(c.Scip.KeepUploads, event.MaxScipUploads), MaxUploadBytes: int64(c.Scip.MaxUploadBytes),
		MaxTotalBytes: int64(c.Scip.MaxTotalBytes),
		Packages:      packages,
		Logger:        s.o.Logger, Registerer: s.o.Registerer,
	})
}

// scipUploads adapts the catalog to precise.Uploads.
type scipUploads struct{ s *Server }

// Uploads implements precise.Uploads.
func (u scipUploads) Uploads(id code.RepositoryID) []event.ScipUploaded {
	r, ok := u.s.versions.Live().Catalog.Snapshot().ByID(id)
	if !ok {
		return nil
	}
	return scipUploadsOf(r)
}

// AllUploads implements precise.Uploads.
func (u scipUploads) AllUploads() map[code.RepositoryID][]event.ScipUploaded {
	out := map[code.RepositoryID][]event.ScipUploaded{}
	for _, r := range u.s.versions.Live().Catalog.Snapshot().ByName() {
		if len(r.ScipUploads) > 0 {
			out[r.ID] = scipUploadsOf(r)
		}
	}
	return out
}

func scipUploadsOf(r *catalog.Repository) []event.ScipUploaded {
	out := make([]event.ScipUploaded, len(r.ScipUploads))
	for i, u := range r.ScipUploads {
		out[i] = event.ScipUploaded{
			Repository: r.ID, Commit: u.Commit, Path: u.Path, Object: u.Object, SizeBytes: u.SizeBytes, Documents: u.Documents,
			Occurrences: u.Occurrences, Symbols: u.Symbols, Tool: u.Tool, ToolVersion: u.ToolVersion, At: u.At,
		}
	}
	return out
}

// scipLog adapts the log to precise.Log.
type scipLog struct{ s *Server }

// announceWait bounds the wait for the catalog to show an upload or a deletion, so that the
// sender need not poll for it.
const announceWait = 5 * time.Second

// Announce implements precise.Log.
func (l scipLog) Announce(ctx context.Context, ev event.Event) (event.Position, error) {
	at, err := l.s.registrar.AppendEvent(ctx, ev)
	if err != nil {
		return at, err
	}
	i := l.s.versions.Acquire()
	defer i.Release()
	ctx, cancel := context.WithTimeout(ctx, announceWait)
	defer cancel()
	_ = i.Runner.WaitFor(ctx, at) // the event is durable; the catalog may show it later
	return at, nil
}

// CatchUp implements precise.Log.
func (l scipLog) CatchUp(ctx context.Context) error {
	if asOf := l.s.versions.AsOf(); asOf != "" {
		return fmt.Errorf("%w: the index shows %s, and nothing is deleted meanwhile", failure.ErrConflict, asOf)
	}
	i := l.s.versions.Acquire()
	defer i.Release()
	if err := l.s.versions.WaitForLog(ctx, i); err != nil {
		return err
	}
	if l.s.versions.Live() != i {
		return fmt.Errorf("%w: another version of the projections has become live", failure.ErrUnavailable)
	}
	return nil
}
