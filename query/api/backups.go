package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// Backups keeps files unchanged for a process that copies them.
type Backups interface {
	// Begin creates a checkpoint of the log and prevents the deletion of objects for a
	// limited time. The error wraps failure.ErrConflict while another backup is running.
	Begin(ctx context.Context) (Backup, error)
	// Renew extends the time of a backup. The error wraps code.ErrNotFound.
	Renew(ctx context.Context, id string) (Backup, error)
	// End removes the checkpoint and allows deletions again. The error wraps
	// code.ErrNotFound.
	End(ctx context.Context, id string) error
}

// Backup is a running backup.
type Backup struct {
	ID string
	// Log is embedded or kafka.
	Log string
	// Checkpoint is the name of a subdirectory of the embedded log's directory.
	Checkpoint string
	// Positions are the positions of the next record of each partition when the backup
	// began. The checkpoint may contain more records.
	Positions []event.Position
	// ExpiresAt is when the backup ends unless it is renewed.
	ExpiresAt time.Time
}

func newBackup(b *Backup) wire.Backup {
	out := wire.Backup{ID: b.ID, Log: wire.BackupLog(b.Log), Checkpoint: b.Checkpoint, Positions: make([]wire.Position, len(b.Positions)), ExpiresAt: wire.At(b.ExpiresAt)}
	for i, p := range b.Positions {
		out.Positions[i] = wirePosition(p)
	}
	return out
}

var errNoBackups = fmt.Errorf("%w: this process does not make backups", failure.ErrUnavailable)

func (s *Server) requireBackups() (Backups, error) {
	if s.o.Backups == nil {
		return nil, errNoBackups
	}
	return s.o.Backups, nil
}

func (s *Server) beginBackup(r *http.Request) (*reply, error) {
	backups, err := s.requireBackups()
	if err != nil {
		return nil, err
	}
	b, err := backups.Begin(r.Context())
	if err != nil {
		return nil, fmt.Errorf("begin a backup: %w", err)
	}
	return createdReply(newBackup(&b)), nil
}

func (s *Server) renewBackup(r *http.Request) (*reply, error) {
	backups, err := s.requireBackups()
	if err != nil {
		return nil, err
	}
	b, err := backups.Renew(r.Context(), mux.Vars(r)["backupId"])
	if err != nil {
		return nil, err
	}
	return okReply(newBackup(&b)), nil
}

func (s *Server) endBackup(r *http.Request) (*reply, error) {
	backups, err := s.requireBackups()
	if err != nil {
		return nil, err
	}
	if err := backups.End(r.Context(), mux.Vars(r)["backupId"]); err != nil {
		return nil, err
	}
	return noContentReply(), nil
}
