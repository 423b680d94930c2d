package versions

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/replay"
)

// errLoss means that a replay would replace the last copy of something.
var errLoss = errors.New("the new version would lack documents of the live one")

// needsLossCheck reports whether the new version must contain everything that the live
// one has. A version of the past need not, because it keeps the live one.
func (r *replayOrder) needsLossCheck() bool { return !r.Rollback && !r.force && r.until == nil }

// checkLoss returns errLoss if next lacks documents or refs of the live version because
// the segment store lost them.
func (v *Versions) checkLoss(live, next *Version) error {
	if live == nil || live.Meta.IsFrozen() {
		return nil
	}
	before, err := live.countMissing()
	if err != nil {
		return err
	}
	after, err := next.countMissing()
	if err != nil {
		return err
	}
	return compareLoss(before, after)
}

func compareLoss(before, after places.Missing) error {
	if after.Documents <= before.Documents && after.Refs <= before.Refs {
		return nil
	}
	return fmt.Errorf("%w: %d documents and %d refs, because objects are missing from the segment store; run quarry verify --repair to re-index them and replay again, or replay with --force and have them re-indexed afterwards",
		errLoss, max(0, after.Documents-before.Documents), max(0, after.Refs-before.Refs))
}

// countMissing counts what the version is missing.
func (i *Version) countMissing() (places.Missing, error) {
	v := i.Places.Acquire()
	defer v.Release()
	return v.Missing()
}

// ReportMissing returns what searches of the live version, and a rebuild of it, lack. It
// is cheap enough for every search.
func (v *Versions) ReportMissing() replay.Missing {
	i := v.Acquire()
	defer i.Release()
	view := i.Places.Acquire()
	defer view.Release()
	out := replay.Missing{Documents: view.UnheldCount(), Unstored: i.StoreChecker.Unstored().CountAll()}
	if i.Reindexer != nil {
		out.Refs = i.Reindexer.BrokenRefs()
	}
	return out
}

// readLive writes to the segment store what only the live version has, and returns what
// the live version lacks. ok is false if the live version cannot be read; then there is
// nothing to protect.
func (v *Versions) readLive(ctx context.Context) (missing places.Missing, ok bool, err error) {
	i := v.Live()
	if i == nil {
		dir, err := v.o.Home.Current()
		if err != nil {
			return missing, false, err
		}
		meta, err := projections.ReadMeta(dir)
		if err != nil || meta.IsFrozen() {
			return missing, false, err
		}
		if i, err = v.openVersion(ctx, dir); err != nil {
			v.o.Logger.Warn("the live version of the projections cannot be read; it is not compared with the new one", "error", err)
			return missing, false, ctx.Err()
		}
		defer func() { err = errors.Join(err, v.closeVersion(i)) }()
	}
	i.StoreChecker.CheckOnce(ctx)
	missing, err = i.countMissing()
	return missing, err == nil, err
}

// buildWithLossCheck runs buildVersion while no server runs.
func (v *Versions) buildWithLossCheck(ctx context.Context, order *replayOrder, progress func(done, total int64)) (*Version, error) {
	var before places.Missing
	compare := false
	if order.needsLossCheck() {
		var err error
		if before, compare, err = v.readLive(ctx); err != nil {
			return nil, err
		}
	}
	next, err := v.buildVersion(ctx, order, progress)
	if err != nil || !compare {
		return next, err
	}
	after, err := next.countMissing()
	if err == nil {
		err = compareLoss(before, after)
	}
	if err != nil {
		return nil, errors.Join(err, v.discardVersion(next))
	}
	return next, nil
}
