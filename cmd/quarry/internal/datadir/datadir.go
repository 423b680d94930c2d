package datadir

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/permissions"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
	"github.com/quarrysearch/quarry/pipeline/backup"
	"github.com/quarrysearch/quarry/projections/diskspace"
	"github.com/quarrysearch/quarry/schemas/disk"
)

// PendingAuditName is a file in the data directory with the audit records that the log
// did not accept before the stop.
const PendingAuditName = "audit.pending"

// Lock locks the data directory for this process. It makes the directories that Quarry
// creates in it private before anything in them is changed. Directories that the
// configuration chooses belong to the administrator, so Lock only warns about them.
func Lock(c *config.Config, logger *slog.Logger) (*disk.Directory, error) {
	directory, err := disk.LockDirectory(c.Data)
	if err != nil {
		return nil, err
	}
	if err := backup.CheckRestored(c.Data); err != nil {
		return nil, errors.Join(err, directory.Close())
	}
	for _, a := range openDirectories(c) {
		logger.Warn("other users of this machine can access a directory; Quarry restricts the files in it, restrict the directory as well",
			"path", a.Path, "mode", a.Octal(), "command", a.Command())
	}
	var closer permissions.Closer
	for _, path := range append(c.OwnDirectories(), directory.LockPath()) {
		closer.CloseEntry(path)
	}
	for _, name := range []string{secrets.SumFileName, diskspace.ReserveName, PendingAuditName} {
		closer.CloseEntry(filepath.Join(c.Data, name))
	}
	reportClosed(logger, &closer)
	return directory, nil
}

// openDirectories returns the configured directories that other users can access. It
// omits missing directories, which Quarry creates as private.
func openDirectories(c *config.Config) (open []permissions.Access) {
	for _, path := range c.ChosenDirectories() {
		if absolute, err := filepath.Abs(path); err == nil {
			path = absolute
		}
		if a, ok, err := permissions.Open(path); err == nil && ok {
			open = append(open, a)
		}
	}
	return open
}

// Guard makes files of the directories private while the server runs.
type Guard struct {
	config    *config.Config
	logger    *slog.Logger
	openFiles prometheus.Gauge // files that other users can access
}

// NewGuard returns a Guard of the files below the directories of c. All arguments are
// required.
func NewGuard(c *config.Config, logger *slog.Logger, reg prometheus.Registerer) *Guard {
	return &Guard{config: c, logger: logger, openFiles: promauto.With(reg).NewGauge(prometheus.GaugeOpts{
		Name: "quarry_server_open_files",
		Help: "Files of Quarry that other users of the machine can access and whose permissions could not be restricted at startup, and configured directories that they can access.",
	})}
}

// reportClosed logs which files were made private, and which could not be.
func reportClosed(logger *slog.Logger, c *permissions.Closer) {
	if c.Closed > 0 {
		logger.Warn("restricted the permissions of files and directories; other users of this machine may have read them until now",
			"changed", c.Closed, "looked_at", c.Looked, "first", c.First.Path, "mode", c.First.Octal())
	}
	if c.Failed > 0 {
		logger.Warn("cannot restrict the permissions of files that other users of this machine can access; make the user of this process their owner",
			"files", c.Failed, "first", c.FirstFailed.Path, "mode", c.FirstFailed.Octal(), "error", c.Err, "command", "sudo "+c.FirstFailed.Command())
	}
	if c.Truncated {
		logger.Warn("too many files to check for access by other users; restrict the rest", "looked_at", c.Looked)
	}
}

// Run makes files below the directories private that an earlier version of Quarry, a copy
// or a manual change left accessible to other users. New files are always private. A run
// takes a while, since there may be a million files. Run returns when ctx ends.
func (g *Guard) Run(ctx context.Context) error {
	c := permissions.Closer{Progress: func(looked int) {
		g.logger.Info("checking for files that other users of this machine can access", "looked_at", looked)
	}}
	for _, dir := range append(g.config.OwnDirectories(), g.config.ChosenDirectories()[1:]...) {
		if err := c.CloseBelow(ctx, dir); err != nil && ctx.Err() == nil {
			g.logger.Warn("checking file permissions failed", "path", dir, "error", err)
		}
	}
	g.openFiles.Set(float64(c.Failed + len(openDirectories(g.config))))
	reportClosed(g.logger, &c)
	<-ctx.Done()
	return nil
}
