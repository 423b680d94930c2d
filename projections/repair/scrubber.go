package repair

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/integrity"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
)

// scrubEvery is the time from the end of a pass to the beginning of the next.
const scrubEvery = 24 * time.Hour

// These label values name the stores that are scrubbed.
const (
	scrubbedLog         = "log"
	scrubbedSegments    = "segments"
	ScrubbedAccounts    = "accounts"
	ScrubbedProjections = "projections"
)

// A Scrubber reads the files of the data directory from the disk, slowly, to find damage
// before a reader does. Damaged objects of the segment store are moved to the quarantine,
// damaged segments of the projections are restored, and stores with damaged rows are
// rebuilt at the next start. Other damage is logged and counted.
type Scrubber struct {
	ScrubOptions
	pace *integrity.Pace
	// found counts the damaged files of this pass by store.
	found map[string]int
}

// LogFiles are the files of a log in the data directory.
type LogFiles interface {
	// CheckFiles reads the files at the pace of p, and reports those that are damaged.
	CheckFiles(ctx context.Context, p *integrity.Pace, report func(path string, err error)) error
}

// ScrubOptions are the options of a Scrubber.
type ScrubOptions struct {
	// Log checks the files of the embedded log; nil if brokers keep the log.
	Log LogFiles
	// Segments is nil if the segment store is in object storage, which checks its own
	// disks.
	Segments *segmentstore.Directory
	// Accounts is nil in a process without accounts.
	Accounts *store.Store
	// AcquireLive returns the live version and a function that releases it. It is nil in
	// a process without projections.
	AcquireLive func() (v ScrubbedVersion, release func())
	// BytesPerSecond bounds the reads; 0 turns them off.
	BytesPerSecond int64
	Metrics        *Metrics
	Logger         *slog.Logger
}

// ScrubbedVersion holds the parts of a version that a Scrubber needs.
type ScrubbedVersion struct {
	Rows     *store.Store
	Restorer *Restorer
	Store    *StoreChecker
	// CaughtUp is closed once the version has caught up with the log; nil in a version
	// of the past.
	CaughtUp <-chan struct{}
}

// NewScrubber returns a Scrubber. It reads when Run or RunPass is called.
func NewScrubber(o ScrubOptions) *Scrubber {
	return &Scrubber{ScrubOptions: o, pace: integrity.NewPace(max(o.BytesPerSecond, 1), func(n int) { o.Metrics.scrubbed.Add(float64(n)) })}
}

// Run reads all files repeatedly until ctx ends.
func (c *Scrubber) Run(ctx context.Context) error {
	if c.BytesPerSecond <= 0 {
		<-ctx.Done()
		return nil
	}
	for {
		if _, err := c.RunPass(ctx); err != nil && ctx.Err() == nil {
			c.Logger.Error("files could not be checked for damage; retrying later", "error", err)
		}
		wait := time.NewTimer(scrubEvery)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return nil
		}
	}
}

// RunPass reads every file once, and returns the number of damaged files by store.
func (c *Scrubber) RunPass(ctx context.Context) (found map[string]int, err error) {
	c.found = map[string]int{}
	var errs []error
	if c.Log != nil {
		errs = append(errs, c.Log.CheckFiles(ctx, c.pace, func(path string, err error) {
			c.reportDamage(scrubbedLog, path, err)
		}))
	}
	if c.Accounts != nil {
		errs = append(errs, c.checkAccounts(ctx))
	}
	if c.AcquireLive != nil {
		if c.Segments != nil {
			errs = append(errs, c.checkObjects(ctx))
		}
		errs = append(errs, c.checkProjections(ctx))
	}
	if ctx.Err() != nil {
		return c.found, nil
	}
	for _, name := range []string{scrubbedLog, ScrubbedAccounts, scrubbedSegments, ScrubbedProjections} {
		c.Metrics.damaged.WithLabelValues(name).Set(float64(c.found[name]))
	}
	if err := errors.Join(errs...); err != nil {
		return c.found, err
	}
	c.Metrics.lastPass.SetToCurrentTime()
	return c.found, nil
}

// reportDamage counts a damaged file immediately, before the pass ends.
func (c *Scrubber) reportDamage(name, path string, err error) {
	c.found[name]++
	c.Metrics.damaged.WithLabelValues(name).Set(float64(c.found[name]))
	c.Logger.Error("a file is damaged", "store", name, "path", path, "error", err)
}

// reportRows reports a damaged file of rows, and marks the store for a rebuild at the
// next start. The mark is needed because earlier reads may have touched only intact
// parts, and opening the store does not read the whole file.
func (c *Scrubber) reportRows(name, dir string, d *store.DamageError) {
	c.reportDamage(name, d.Path, d)
	if err := projections.MarkDamaged(dir, d); err != nil {
		c.Logger.Error("a store with a damaged file could not be marked; remove it, and start the server again", "directory", dir, "error", err)
	}
}

// checkObjects reads the objects of the segment store in random order, so that a process
// that restarts often still reaches all of them.
func (c *Scrubber) checkObjects(ctx context.Context) error {
	var names []string
	for info, err := range c.Segments.List(ctx) {
		if err != nil {
			return err
		}
		names = append(names, info.Name)
	}
	quarantined := false
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		err := c.Segments.Check(ctx, name, c.pace)
		switch {
		case errors.Is(err, segmentstore.ErrCorrupt):
			if moved, err := c.Segments.Quarantine(ctx, name); err != nil {
				return err
			} else if moved {
				quarantined = true
				c.found[scrubbedSegments]++
				c.Metrics.damaged.WithLabelValues(scrubbedSegments).Set(float64(c.found[scrubbedSegments]))
			}
		case err != nil && !errors.Is(err, code.ErrNotFound): // deleted in the meantime
			return err
		}
	}
	if quarantined {
		return c.replaceObjects(ctx)
	}
	return nil
}

// replaceObjects rewrites or re-indexes the objects that were moved to the quarantine.
// Missing manifests are found only by a thorough check.
func (c *Scrubber) replaceObjects(ctx context.Context) error {
	v, release := c.AcquireLive()
	defer release()
	if v.CaughtUp == nil {
		return nil
	}
	select {
	case <-v.CaughtUp: // before that, documents that a merge moved look lost
	case <-ctx.Done():
		return nil
	}
	_, err := v.Store.Check(ctx, true)
	return err
}

// checkProjections reads the live version, except for tables that are also objects of the
// segment store. The version may be closed in the meantime.
func (c *Scrubber) checkProjections(ctx context.Context) error {
	v, release := c.AcquireLive()
	files, err := v.Rows.Files()
	release()
	if err != nil {
		return err
	}
	return files.Check(ctx, c.pace, func(path string, first []byte) bool {
		id, ok := segment.IDOfKey(first)
		return ok && c.Segments != nil && c.Segments.IsObject(segmentstore.SegmentName(id), path)
	}, func(d *store.DamageError) {
		if d.InSegment() {
			id, _ := segment.IDOfKey(d.First)
			v.Restorer.NoteDamage(id, d)
			return
		}
		c.reportRows(ScrubbedProjections, v.Rows.Dir(), d)
	})
}

// checkAccounts reads the rows of the accounts.
func (c *Scrubber) checkAccounts(ctx context.Context) error {
	files, err := c.Accounts.Files()
	if err != nil {
		return err
	}
	return files.Check(ctx, c.pace, func(string, []byte) bool { return false }, func(d *store.DamageError) {
		c.reportRows(ScrubbedAccounts, c.Accounts.Dir(), d)
	})
}
