package versions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/replay"
)

// ErrDifferent means that the projections differ from a rebuild from the log.
var ErrDifferent = errors.New("the projections differ from a rebuild")

// Rebuild builds projections from the log, next to the live ones, while no server runs.
type Rebuild struct {
	o Options
}

// NewRebuild returns a Rebuild.
func NewRebuild(o Options) *Rebuild { return &Rebuild{o: o} }

// Switch builds the requested version and makes it live for the next start; it keeps the
// previous one. progress is called about once a second with the number of applied records
// and the total. Switch returns the description of the new version.
func (r *Rebuild) Switch(ctx context.Context, in replay.Request, progress func(done, total int64)) (meta projections.Meta, err error) {
	v := newVersions(r.o)
	defer func() { err = errors.Join(err, v.Close(), r.o.Home.Clean()) }()
	order := &replayOrder{Replay: replay.Replay{Projection: in.Projection, To: in.To}, force: in.Force}
	if in.Projection != "" {
		if err := v.openLive(ctx); err != nil {
			return meta, err
		}
	}
	if err := v.parseReplayRequest(order, in); err != nil {
		return meta, err
	}
	next, err := v.buildWithLossCheck(ctx, order, progress)
	if err != nil {
		return meta, err
	}
	if err := r.inheritDeletions(next); err != nil {
		return meta, err
	}
	return next.Meta, r.o.Home.Switch(next.Store.Dir())
}

// openLive opens the live version as a source to copy from, without running anything on
// it.
func (v *Versions) openLive(ctx context.Context) error {
	dir, err := v.o.Home.Current()
	if err != nil {
		return err
	}
	i, err := v.openVersion(ctx, dir)
	if err == nil {
		v.live.Store(i)
	}
	return err
}

// inheritDeletions copies the pending deletions of the live version. If that version
// cannot be read, nothing is copied, and some objects stay in the segment store.
func (r *Rebuild) inheritDeletions(next *Version) (err error) {
	dir, err := r.o.Home.Current()
	if err != nil {
		return err
	}
	old, err := store.Open(dir, store.Options{ReadOnly: true, Logger: r.o.Logger})
	if err != nil {
		return nil // see above; if a copy of the live version is open, the rows were copied
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	if err := next.Places.TakeOver(old); err != nil {
		r.o.Logger.Warn("pending deletions of the previous version cannot be read; their objects stay in the segment store", "error", err)
	}
	return nil
}

// Rollback makes the previous version live for the next start, and returns its
// description.
func (r *Rebuild) Rollback() (projections.Meta, error) {
	dir, err := r.o.Home.Rollback()
	if err != nil {
		return projections.Meta{}, err
	}
	return projections.ReadMeta(dir)
}

// rebuildStore replaces the live store of home with one that is rebuilt from the log.
func rebuildStore(ctx context.Context, o Options, home *projections.Home, progress func(done, total int64)) (string, error) {
	dir, err := projections.Replay(ctx, projections.ReplayOptions{
		Home: home, Log: o.Log, Objects: o.Objects,
		Open: func(ctx context.Context, s *store.Store, d *projections.Decoder) ([]projections.Projection, func(), error) {
			return OpenRows(ctx, s, o.Objects, d, o.Logger)
		},
		Store:    store.Options{CacheBytes: o.BlocksBytes, Logger: o.Logger},
		Share:    o.Share.String(),
		Holds:    holdsOf(o.Share),
		Progress: progress,
		Logger:   o.Logger,
	})
	if err != nil {
		return "", err
	}
	return dir, home.Clean()
}

// Verify brings the live projections up to date, rebuilds them in a temporary directory,
// and compares every key and value except those that describe one directory. It returns
// the number of rows, or an error that wraps ErrDifferent and names the first row that
// differs.
func (r *Rebuild) Verify(ctx context.Context, progress func(done, total int64)) (rows int, err error) {
	dir, err := os.MkdirTemp(r.o.DataDir, "verify-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := r.catchUp(ctx); err != nil {
		return 0, fmt.Errorf("bring the live projections up to date: %w", err)
	}
	home, err := projections.OpenHome(dir)
	if err != nil {
		return 0, err
	}
	made, err := rebuildStore(ctx, r.o, home, progress)
	if err != nil {
		return 0, err
	}
	live, err := r.o.Home.Current()
	if err != nil {
		return 0, err
	}
	return r.compareStores(ctx, live, made)
}

// catchUp applies the rest of the log to the live projections.
func (r *Rebuild) catchUp(ctx context.Context) (err error) {
	dir, err := r.o.Home.Current()
	if err != nil {
		return err
	}
	meta, err := r.o.readMeta(dir)
	if err != nil {
		return err
	}
	rows, err := store.Open(dir, store.Options{CacheBytes: r.o.BlocksBytes, Logger: r.o.Logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	i, err := openVersionRows(ctx, versionOptions{Logger: r.o.Logger, now: time.Now, store: rows, log: r.o.Log, objects: r.o.Objects, share: r.o.Share}, projections.Meta{Ahead: meta.Ahead})
	if err != nil {
		return err
	}
	defer i.close()
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- i.Runner.Run(running) }()
	select {
	case <-i.Runner.CaughtUp():
		stop()
		return <-ended
	case err := <-ended:
		return errors.Join(err, ctx.Err())
	}
}

// compareStores compares two stores row by row.
func (r *Rebuild) compareStores(ctx context.Context, live, made string) (rows int, err error) {
	a, err := r.openSwept(ctx, live)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	b, err := r.openSwept(ctx, made)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	x, err := a.Iter(nil, nil)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	y, err := b.Iter(nil, nil)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, y.Close()) }()
	return compareRows(x, y)
}

// openSwept opens a store without the segments that nothing names anymore, because the
// time of their removal depends on readers, not on the log. Opening the projections
// excises them.
func (r *Rebuild) openSwept(ctx context.Context, dir string) (*store.Store, error) {
	s, err := store.Open(dir, store.Options{Logger: r.o.Logger})
	if err != nil {
		return nil, err
	}
	_, closeRows, err := OpenRows(ctx, s, r.o.Objects, projections.NewDecoder(r.o.Objects), r.o.Logger)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	closeRows()
	return s, nil
}

// iterator contains the methods of store.Iterator that compareRows uses.
type iterator interface {
	First() bool
	Next() bool
	Key() []byte
	Value() []byte
	Err() error
}

// compareRows returns the number of equal rows before the first difference.
func compareRows(live, made iterator) (rows int, err error) {
	a, b := skipLocal(live, live.First()), skipLocal(made, made.First())
	for a && b {
		if !bytes.Equal(live.Key(), made.Key()) || !bytes.Equal(live.Value(), made.Value()) {
			return rows, fmt.Errorf("%w: row %d: %q = %.200q in the live ones, %q = %.200q in the rebuild",
				ErrDifferent, rows, live.Key(), live.Value(), made.Key(), made.Value())
		}
		rows++
		a, b = skipLocal(live, live.Next()), skipLocal(made, made.Next())
	}
	switch {
	case errors.Join(live.Err(), made.Err()) != nil:
		return rows, errors.Join(live.Err(), made.Err())
	case a:
		return rows, fmt.Errorf("%w: only the live ones have %q = %.200q", ErrDifferent, live.Key(), live.Value())
	case b:
		return rows, fmt.Errorf("%w: only the rebuild has %q = %.200q", ErrDifferent, made.Key(), made.Value())
	}
	return rows, nil
}

// skipLocal skips rows that describe one directory.
func skipLocal(it iterator, valid bool) bool {
	for valid && it.Key()[0] == byte(store.FamilyLocal) {
		valid = it.Next()
	}
	return valid
}
