package server

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

	"github.com/quarrysearch/quarry/cmd/quarry/internal/backup"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
)

const (
	// backupLease is how long a backup lasts without a renewal: its client may be dead.
	backupLease = time.Minute
	// maxBackupTime ends a backup, however often it is renewed: until then no object of
	// the segment store is deleted.
	maxBackupTime = 24 * time.Hour
	// backupsEvery is how often is looked for a backup that has expired.
	backupsEvery = 5 * time.Second
	// checkpointPrefix begins the names of checkpoints in the directory of the log.
	checkpointPrefix = "backup-"
)

// backups holds files for a process that copies them, one backup at a time.
type backups struct {
	log      eventlog.Log
	segments *segmentstore.Directory
	logDir   string // empty without an embedded log
	logger   *slog.Logger
	now      func() time.Time
	mu       struct {
		sync.Mutex
		active *activeBackup // nil: none
	}
}

// activeBackup is a running backup.
type activeBackup struct {
	api.Backup
	deadline time.Time // of any renewal
	release  func()    // of the objects
}

var _ api.Backups = (*backups)(nil)

// newBackups removes the checkpoints that an earlier process has left.
func newBackups(o Options, log eventlog.Log, segments *segmentstore.Directory) (*backups, error) {
	b := &backups{log: log, segments: segments, logger: o.Logger, now: time.Now}
	if _, ok := log.(eventlog.Checkpointer); !ok {
		return b, nil
	}
	b.logDir = o.Config.LogDir()
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

// Begin implements api.Backups. The hold begins before the checkpoint: an object that
// the checkpoint names is there until the end.
func (b *backups) Begin(ctx context.Context) (api.Backup, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expireLocked()
	if a := b.mu.active; a != nil {
		return api.Backup{}, fmt.Errorf("%w: a backup is running; if its client is dead, it ends at %s", api.ErrConflict, a.ExpiresAt.UTC().Format(time.RFC3339))
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	now := b.now()
	a := &activeBackup{
		Backup:   api.Backup{ID: hex.EncodeToString(random[:]), Log: backup.LogKafka, ExpiresAt: now.Add(backupLease)},
		deadline: now.Add(maxBackupTime), release: b.segments.Hold(),
	}
	if err := b.makeCheckpoint(ctx, a); err != nil {
		return api.Backup{}, errors.Join(err, b.removeLocked(a))
	}
	b.mu.active = a
	b.logger.Info("backup begun; no object of the segment store is deleted until it ends", "backup", a.ID)
	return a.Backup, nil
}

// makeCheckpoint notes where the log is and makes the checkpoint of one that can.
func (b *backups) makeCheckpoint(ctx context.Context, a *activeBackup) (err error) {
	if a.Positions, err = endsOf(ctx, b.log); err != nil {
		return err
	}
	log, ok := b.log.(eventlog.Checkpointer)
	if !ok {
		return nil
	}
	a.Log, a.Checkpoint = backup.LogEmbedded, checkpointPrefix+a.ID
	return log.Checkpoint(filepath.Join(b.logDir, a.Checkpoint))
}

// Renew implements api.Backups.
func (b *backups) Renew(_ context.Context, id string) (api.Backup, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expireLocked()
	a := b.mu.active
	if a == nil || a.ID != id {
		return api.Backup{}, fmt.Errorf("%w: the backup %.40q has ended", code.ErrNotFound, id)
	}
	a.ExpiresAt = b.now().Add(backupLease)
	if a.ExpiresAt.After(a.deadline) {
		a.ExpiresAt = a.deadline
	}
	return a.Backup, nil
}

// End implements api.Backups.
func (b *backups) End(_ context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.mu.active
	if a == nil || a.ID != id {
		return fmt.Errorf("%w: the backup %.40q has ended", code.ErrNotFound, id)
	}
	b.logger.Info("backup ended", "backup", a.ID)
	return b.removeLocked(a)
}

// Run ends backups whose clients do not renew them, and all at the end.
func (b *backups) Run(ctx context.Context) error {
	err := runEvery(ctx, backupsEvery, func(context.Context) {
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

func (b *backups) expireLocked() {
	a := b.mu.active
	if a == nil || b.now().Before(a.ExpiresAt) {
		return
	}
	b.logger.Warn("backup ended: its client has not renewed it, or it took too long", "backup", a.ID)
	if err := b.removeLocked(a); err != nil {
		b.logger.Warn("the checkpoint of a backup could not be removed; the next start removes it", "backup", a.ID, "error", err)
	}
}

// removeLocked ends a backup.
func (b *backups) removeLocked(a *activeBackup) error {
	b.mu.active = nil
	a.release()
	if a.Checkpoint == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(b.logDir, a.Checkpoint))
}
