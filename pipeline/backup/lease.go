package backup

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/topics"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

const (
	// leaseDuration is how long a backup lasts without a renewal. Its client may have
	// died.
	leaseDuration = time.Minute
	// maxLeaseDuration bounds a backup, however often it is renewed, because no object of the
	// segment store is deleted until it ends.
	maxLeaseDuration = 24 * time.Hour
	// expiryInterval is the interval at which Run looks for an expired backup.
	expiryInterval = 5 * time.Second
	// releaseTimeout bounds the removal of a hold.
	releaseTimeout = 10 * time.Second
	// checkpointPrefix is the prefix of checkpoint names in the directory of the log.
	checkpointPrefix = "backup-"
)

// Leases keeps files in place for a process that copies them, one backup at a time.
type Leases struct {
	log      eventlog.Log
	segments segmentstore.Driver
	logDir   string // empty without an embedded log
	logger   *slog.Logger
	now      func() time.Time
	// clock is compared with that of the segments. Default: time.Now.
	clock func() time.Time
	// settle waits until all processes that share the segments see a hold; nil if none do.
	settle func(ctx context.Context) error
	mu     struct {
		sync.Mutex
		active *activeBackup // nil if there is no backup
	}
}

// activeBackup is a running backup.
type activeBackup struct {
	wire.Backup
	deadline time.Time // the latest possible end, regardless of renewals
	release  func()    // releases the objects
}

// NewLeases removes the checkpoints that an earlier process left in logDir, the directory of an
// embedded log. settle is nil unless other processes delete segments, and waits until they see a
// hold of this one.
func NewLeases(
	log eventlog.Log, logDir string, segments segmentstore.Driver, settle func(ctx context.Context) error, logger *slog.Logger,
) (*Leases, error) {
	b := &Leases{log: log, segments: segments, settle: settle, logger: logger, now: time.Now, clock: time.Now}
	if _, ok := log.(eventlog.Checkpointer); !ok {
		return b, nil
	}
	b.logDir = logDir
	entries, err := os.ReadDir(b.logDir)
	if err != nil {
		return nil, fmt.Errorf("look for checkpoints of the log: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), checkpointPrefix) {
			if err := os.RemoveAll(filepath.Join(b.logDir, e.Name())); err != nil {
				return nil, fmt.Errorf("remove a checkpoint that a backup has left: %w", err)
			}
		}
	}
	return b, nil
}

// Begin begins a backup. It holds the objects, of this process and of those that share them, before
// it creates the checkpoint, so that every object that the checkpoint names exists until the end.
func (b *Leases) Begin(ctx context.Context) (wire.Backup, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expireLocked()
	if a := b.mu.active; a != nil {
		return wire.Backup{}, fmt.Errorf("%w: a backup is running; if its client is dead, it ends at %s", failure.ErrConflict,
			a.ExpiresAt.UTC().Format(time.RFC3339))
	}
	if b.settle != nil {
		if err := segmentstore.NewSharedHolds(b.segments, b.clock).CheckClock(ctx); err != nil {
			return wire.Backup{}, fmt.Errorf("%w: no backup can begin: %w", failure.ErrUnavailable, err)
		}
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	now := b.now()
	a := &activeBackup{
		Backup:   wire.Backup{ID: hex.EncodeToString(random[:]), Log: LogKafka, ExpiresAt: wire.At(now.Add(leaseDuration))},
		deadline: now.Add(maxLeaseDuration), release: b.segments.Hold(),
	}
	err := b.extendHold(ctx, a)
	if err == nil && b.settle != nil {
		err = b.settle(ctx)
	}
	if err == nil {
		err = b.makeCheckpoint(ctx, a)
	}
	if err != nil {
		return wire.Backup{}, errors.Join(err, b.removeLocked(a))
	}
	b.mu.active = a
	b.logger.Info("backup started; no object of the segment store is deleted until it ends", "backup", a.ID)
	return a.Backup, nil
}

// extendHold shows other processes that they must delete nothing until the backup ends.
func (b *Leases) extendHold(ctx context.Context, a *activeBackup) error {
	if b.settle == nil {
		return nil
	}
	return segmentstore.NewSharedHolds(b.segments, b.now).Extend(ctx, a.ID, a.ExpiresAt.Time)
}

// makeCheckpoint records the positions of the log, and creates a checkpoint if the log
// supports it.
func (b *Leases) makeCheckpoint(ctx context.Context, a *activeBackup) error {
	ends, err := topics.ReadEnds(ctx, b.log)
	if err != nil {
		return err
	}
	a.Positions = wire.PositionsOf(ends)
	log, ok := b.log.(eventlog.Checkpointer)
	if !ok {
		return nil
	}
	a.Log, a.Checkpoint = LogEmbedded, checkpointPrefix+a.ID
	return log.Checkpoint(filepath.Join(b.logDir, a.Checkpoint))
}

// Renew extends the lease of a backup.
func (b *Leases) Renew(ctx context.Context, id string) (wire.Backup, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expireLocked()
	a := b.mu.active
	if a == nil || a.ID != id {
		return wire.Backup{}, fmt.Errorf("%w: the backup %.40q has ended", code.ErrNotFound, id)
	}
	a.ExpiresAt = wire.At(b.now().Add(leaseDuration))
	if a.ExpiresAt.After(a.deadline) {
		a.ExpiresAt = wire.At(a.deadline)
	}
	return a.Backup, b.extendHold(ctx, a)
}

// End ends a backup.
func (b *Leases) End(_ context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.mu.active
	if a == nil || a.ID != id {
		return fmt.Errorf("%w: the backup %.40q has ended", code.ErrNotFound, id)
	}
	b.logger.Info("backup ended", "backup", a.ID)
	return b.removeLocked(a)
}

// Run ends backups whose clients do not renew them. When ctx ends, it ends all backups.
func (b *Leases) Run(ctx context.Context) error {
	err := clock.RunEvery(ctx, expiryInterval, func(context.Context) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.expireLocked()
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.active != nil {
		err = errors.Join(err, b.removeLocked(b.mu.active))
	}
	return err
}

func (b *Leases) expireLocked() {
	a := b.mu.active
	if a == nil || b.now().Before(a.ExpiresAt.Time) {
		return
	}
	b.logger.Warn("backup ended: its client has not renewed it, or it took too long", "backup", a.ID)
	if err := b.removeLocked(a); err != nil {
		b.logger.Warn("the checkpoint of a backup could not be removed; the next start removes it", "backup", a.ID, "error", err)
	}
}

// removeLocked ends a backup. It must be called with mu held.
func (b *Leases) removeLocked(a *activeBackup) error {
	b.mu.active = nil
	a.release()
	if b.settle != nil {
		ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
		defer cancel()
		if err := segmentstore.NewSharedHolds(b.segments, b.now).Release(ctx, a.ID); err != nil {
			b.logger.Warn("the hold of a backup could not be removed; it ends by itself", "backup", a.ID, "error", err)
		}
	}
	if a.Checkpoint == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(b.logDir, a.Checkpoint))
}
