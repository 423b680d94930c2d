package repartition

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/snapshots"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// ErrDifferent means that projections of the new log do not equal those of the source.
var ErrDifferent = errors.New("the new log leads to another state")

// Build applies a log of Write to new projections, next to those of the source, and compares
// them: each repository, ref and file, and whether a segment holds it. It fails with
// ErrNotReady if the old log has grown since Open. The server that opens the new projections
// deletes the old segments. The caller switches the home to the directory that Build returns,
// or cleans the home.
func (s *Source) Build(ctx context.Context, log eventlog.Log, progress func(done, total int64)) (dir string, err error) {
	built, err := projections.Build(ctx, projections.ReplayOptions{
		Home: s.o.Home, Log: log, Objects: s.o.Objects,
		Open: func(ctx context.Context, rows *store.Store, d *projections.Decoder) ([]projections.Projection, func(), error) {
			return versions.OpenRows(ctx, rows, s.o.Objects, d, s.o.Logger)
		},
		Progress: progress, Logger: s.o.Logger,
	})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, built.Close()) }()
	if built.Meta.Partitions, err = log.Partitions(ctx, event.TopicEvents); err == nil {
		err = projections.WriteMeta(built.Dir, built.Meta)
	}
	if err != nil {
		return "", err
	}
	known, where := versions.FindProjections(built.Projections)
	view := where.Acquire()
	defer view.Release()
	if err := cmp.Or(s.compare(ctx, known.Snapshot(), view), s.checkEnds(ctx)); err != nil {
		return "", err
	}
	old, err := s.places.NamedSegments()
	if err != nil {
		return "", err
	}
	segments := slices.SortedFunc(maps.Keys(old), func(a, b segment.ID) int { return bytes.Compare(a[:], b[:]) })
	return built.Dir, where.Discard(segments, time.Now().UTC())
}

// checkEnds fails with ErrNotReady if the log has got records since Open.
func (s *Source) checkEnds(ctx context.Context) error {
	ends, err := s.o.Log.HighWater(ctx, event.TopicEvents)
	if err == nil && !slices.Equal(ends, s.ends) {
		err = fmt.Errorf("%w: the old log has grown meanwhile, and the new one lacks these records: stop every process that uses the old one, delete the topics or the log directory of the target, start a server with this data directory, wait until it is ready, stop it, and run the command again", ErrNotReady)
	}
	return err
}

// ForgetOldLog deletes from the segment store what only the old log needs: its snapshots, which
// would keep the old segments although no erasure would find them, the marks of its merges,
// which would be taken for those of merges at the same positions of the new log, and its lists
// of changes, which have the paths of removed repositories. Write must have written the new
// log, which is complete. It fails with ErrNotReady if the old log has records that the new one
// lacks.
func (s *Source) ForgetOldLog(ctx context.Context, archive *snapshots.Archive) error {
	if err := s.checkEnds(ctx); err != nil {
		return err
	}
	list, err := archive.List(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		if err := archive.Delete(ctx, s.Name); err != nil {
			return err
		}
	}
	for object, err := range s.o.Objects.List(ctx) {
		isOld := segmentstore.IsMergeName(object.Name) || segmentstore.IsManifestName(object.Name) && !s.manifests[object.Name]
		if err == nil && isOld {
			err = s.o.Objects.Delete(ctx, object.Name)
		}
		if err != nil {
			return fmt.Errorf("delete objects of the old log: %w", err)
		}
	}
	return nil
}

// compare returns ErrDifferent with the first difference.
func (s *Source) compare(ctx context.Context, known *catalog.Snapshot, view *places.View) error {
	if a, b := s.catalog.Len(), known.Len(); a != b {
		return fmt.Errorf("%w: it has %d repositories in place of %d", ErrDifferent, b, a)
	}
	for _, want := range s.catalog.ByName() {
		got, found := known.ByID(want.ID)
		if !found || !sameRepository(want, got) {
			return fmt.Errorf("%w: repository %s", ErrDifferent, want.Name)
		}
		before, after := s.view.Repository(want.ID), view.Repository(want.ID)
		if before == nil || after == nil || len(before.Refs) != len(after.Refs) {
			return fmt.Errorf("%w: the refs of repository %s", ErrDifferent, want.Name)
		}
		for i, a := range before.Refs {
			b := after.Refs[i]
			same := a.Ref == b.Ref && a.Commit == b.Commit && a.CommitTime.Equal(b.CommitTime) && a.IndexedAt.Equal(b.IndexedAt) &&
				a.PushedAt.Equal(b.PushedAt) && a.Files == b.Files && maps.Equal(a.Skipped, b.Skipped)
			if same {
				x, err := digestFiles(ctx, s.view, want.ID, a.Ref)
				if err != nil {
					return err
				}
				y, err := digestFiles(ctx, view, want.ID, a.Ref)
				if err != nil {
					return err
				}
				same = x == y
			}
			if !same {
				return fmt.Errorf("%w: %s of repository %s", ErrDifferent, a.Ref, want.Name)
			}
		}
	}
	return nil
}

// sameRepository compares what the catalog knows of a repository, except for its private
// mark, which is a position, and the time of the last event, which may have been the deletion
// of a ref.
func sameRepository(a, b *catalog.Repository) bool {
	x, y := *a, *b
	x.PrivateMark, x.IndexedAt, y.PrivateMark = 0, y.IndexedAt, 0
	return reflect.DeepEqual(x, y)
}

// digestFiles returns a digest of the files of a ref and of the existence of their documents.
func digestFiles(ctx context.Context, view *places.View, id code.RepositoryID, ref code.Ref) (sum [sha256.Size]byte, err error) {
	hash := sha256.New()
	var locateErr error
	err = view.Files(ctx, id, ref, "", func(p places.Place) bool {
		if p.Skipped == "" {
			if locateErr = view.Locate(id, &p); locateErr != nil {
				return false
			}
		}
		fmt.Fprintf(hash, "%q %d %d %q %x %q %t\n", p.Path, p.Flags, p.SizeBytes, p.Skipped, p.Document.Blob, p.Document.Language, p.Reader != nil)
		return true
	})
	return [sha256.Size]byte(hash.Sum(nil)), errors.Join(err, locateErr)
}
