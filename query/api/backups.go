package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// Backups keeps files unchanged for a process that copies them.
type Backups interface {
	// Begin creates a checkpoint of the log and prevents the deletion of objects for a
	// limited time. The error wraps failure.ErrConflict while another backup is running.
	Begin(ctx context.Context) (wire.Backup, error)
	// Renew extends the time of a backup. The error wraps code.ErrNotFound.
	Renew(ctx context.Context, id string) (wire.Backup, error)
	// End removes the checkpoint and allows deletions again. The error wraps
	// code.ErrNotFound.
	End(ctx context.Context, id string) error
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
	return createdReply(b), nil
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
	return okReply(b), nil
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
