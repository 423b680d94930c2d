package server

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/integrity"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
)

// scrubEvery is the time from the end of a pass to the beginning of the next.
const scrubEvery = 24 * time.Hour

// The stores that are scrubbed, as label values.
const (
	scrubbedLog         = "log"
	scrubbedSegments    = "segments"
	scrubbedAccounts    = "accounts"
	scrubbedProjections = "projections"
)

// A scrubber reads the files of the data directory from the disk, slowly, to find
// damage before a reader does. Objects of the segment store are moved to the
// quarantine, segments of the projections restored, and stores with damaged rows rebuilt
// at the next start; other damage is logged and counted.
type scrubber struct {
	s       *Server
	logger  *slog.Logger
	metrics *damageMetrics
	pace    *integrity.Pace
	// found counts the damaged files of this pass by store.
	found map[string]int
}

// runScrubber reads everything once and again until ctx ends.
func (s *Server) runScrubber(ctx context.Context) error {
	rate := int64(s.o.Config.Storage.ScrubBytesPerSecond)
	if rate <= 0 {
		<-ctx.Done()
		return nil
	}
	c := &scrubber{s: s, logger: s.o.Logger, metrics: s.damage}
	c.pace = integrity.NewPace(rate, func(n int) { s.damage.scrubbed.Add(float64(n)) })
	for {
		if err := c.runPass(ctx); err != nil && ctx.Err() == nil {
			c.logger.Error("the files could not be checked for damage; trying again later", "error", err)
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

// runPass reads every file once.
func (c *scrubber) runPass(ctx context.Context) error {
	c.found = map[string]int{}
	var errs []error
	if log, ok := c.s.log.(*embeddedlog.Log); ok {
		errs = append(errs, log.CheckFiles(ctx, c.pace, func(path string, err error) {
			c.reportDamage(scrubbedLog, path, err)
		}))
	}
	if c.s.accounts != nil {
		errs = append(errs, c.checkAccounts(ctx))
	}
	if c.s.versions != nil {
		errs = append(errs, c.checkObjects(ctx), c.checkProjections(ctx))
	}
	if ctx.Err() != nil {
		return nil
	}
	for _, name := range []string{scrubbedLog, scrubbedAccounts, scrubbedSegments, scrubbedProjections} {
		c.metrics.damaged.WithLabelValues(name).Set(float64(c.found[name]))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	c.metrics.lastPass.SetToCurrentTime()
	return nil
}

// reportDamage counts a damaged file, and shows it before the pass ends.
func (c *scrubber) reportDamage(name, path string, err error) {
	c.found[name]++
	c.metrics.damaged.WithLabelValues(name).Set(float64(c.found[name]))
	c.logger.Error("a file is damaged", "store", name, "path", path, "error", err)
}

// reportRows reports a damaged file of rows, and has the next start rebuild the store: what
// is read of the file before may be what is intact, and the start opens it without reading
// all of it.
func (c *scrubber) reportRows(name, dir string, d *store.DamageError) {
	c.reportDamage(name, d.Path, d)
	if err := projections.MarkDamaged(dir, d); err != nil {
		c.logger.Error("a store with a damaged file could not be marked; remove it, and start the server again", "directory", dir, "error", err)
	}
}

// checkObjects reads the objects of the segment store, in random order: a process
// that starts again often comes to all of them, too.
func (c *scrubber) checkObjects(ctx context.Context) error {
	var names []string
	for info, err := range c.s.segments.List(ctx) {
		if err != nil {
			return err
		}
		names = append(names, info.Name)
	}
	quarantined := false
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		err := c.s.segments.Check(ctx, name, c.pace)
		switch {
		case errors.Is(err, segmentstore.ErrCorrupt):
			if moved, err := c.s.segments.Quarantine(ctx, name); err != nil {
				return err
			} else if moved {
				quarantined = true
				c.found[scrubbedSegments]++
				c.metrics.damaged.WithLabelValues(scrubbedSegments).Set(float64(c.found[scrubbedSegments]))
			}
		case err != nil && !errors.Is(err, code.ErrNotFound): // deleted meanwhile
			return err
		}
	}
	if quarantined {
		return c.replaceObjects(ctx)
	}
	return nil
}

// replaceObjects writes or indexes again the objects that are in the quarantine
// now; manifests are looked for only on request.
func (c *scrubber) replaceObjects(ctx context.Context) error {
	i := c.s.versions.acquireLive()
	defer i.refCount.release()
	if i.meta.IsFrozen() {
		return nil
	}
	select {
	case <-i.runner.CaughtUp(): // before, what a merge took looks lost
	case <-ctx.Done():
		return nil
	}
	_, err := i.keeper.checkStore(ctx, true)
	return err
}

// checkProjections reads the live version, except for the tables that are objects of the
// segment store as well. The version may be closed meanwhile.
func (c *scrubber) checkProjections(ctx context.Context) error {
	i := c.s.versions.acquireLive()
	files, err := i.store.Files()
	i.refCount.release()
	if err != nil {
		return err
	}
	return files.Check(ctx, c.pace, func(path string, first []byte) bool {
		id, ok := segment.IDOfKey(first)
		return ok && c.s.segments.IsObject(segmentstore.SegmentName(id), path)
	}, func(d *store.DamageError) {
		if d.InSegment() {
			i.heal.noteDamage(d)
			return
		}
		c.reportRows(scrubbedProjections, i.store.Dir(), d)
	})
}

// checkAccounts reads the rows of the accounts.
func (c *scrubber) checkAccounts(ctx context.Context) error {
	files, err := c.s.accounts.store.Files()
	if err != nil {
		return err
	}
	return files.Check(ctx, c.pace, func(string, []byte) bool { return false }, func(d *store.DamageError) {
		c.reportRows(scrubbedAccounts, c.s.accounts.store.Dir(), d)
	})
}
