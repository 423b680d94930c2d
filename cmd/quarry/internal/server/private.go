package server

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/permissions"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/backup"
)

// lockData takes the data directory for this process and closes to other users the
// directories that Quarry makes in it, before anything in them is touched. The
// directories that the configuration chooses are the administrator's: of these it
// only warns.
func lockData(o Options) (*boot.Directory, error) {
	directory, err := boot.LockDirectory(o.Config.Data)
	if err != nil {
		return nil, err
	}
	if err := backup.CheckRestored(o.Config.Data); err != nil {
		return nil, errors.Join(err, directory.Close())
	}
	for _, a := range openDirectories(o.Config) {
		o.Logger.Warn("other users of this machine may use a directory; Quarry closes the files below it, close the directory as well",
			"path", a.Path, "mode", a.Octal(), "command", a.Command())
	}
	var c permissions.Closer
	for _, path := range append(o.Config.OwnDirectories(), directory.LockPath()) {
		c.CloseEntry(path)
	}
	for _, name := range []string{secretSumFile, reserveName, pendingAuditName} {
		c.CloseEntry(filepath.Join(o.Config.Data, name))
	}
	reportClosed(o.Logger, &c)
	return directory, nil
}

// openDirectories returns the chosen directories that other users may use. One that
// does not exist yet is made private.
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

func newOpenFiles(reg prometheus.Registerer) prometheus.Gauge {
	return promauto.With(reg).NewGauge(prometheus.GaugeOpts{
		Name: "quarry_server_open_files",
		Help: "Files of Quarry that other users of the machine may use and that could not be closed at the start, and directories of the settings that they may use.",
	})
}

// reportClosed logs what was closed to other users, and what could not be.
func reportClosed(logger *slog.Logger, c *permissions.Closer) {
	if c.Closed > 0 {
		logger.Warn("closed files and directories to other users of this machine, who may have read them until now",
			"changed", c.Closed, "looked_at", c.Looked, "first", c.First.Path, "mode", c.First.Octal())
	}
	if c.Failed > 0 {
		logger.Warn("files that other users of this machine may use cannot be closed; let them belong to the user of this process",
			"files", c.Failed, "first", c.FirstFailed.Path, "mode", c.FirstFailed.Octal(), "error", c.Err, "command", "sudo "+c.FirstFailed.Command())
	}
	if c.Truncated {
		logger.Warn("too many files to check for access by other users; restrict the rest", "looked_at", c.Looked)
	}
}

// closeFiles closes to other users what an earlier version of Quarry, a copy or a
// change by hand has left open below the directories. New files are private in any
// case. It runs while the server works, since there may be a million of them.
func (s *Server) closeFiles(ctx context.Context) error {
	c := permissions.Closer{Progress: func(looked int) {
		s.o.Logger.Info("looking for files that other users of this machine may use", "looked_at", looked)
	}}
	for _, dir := range append(s.o.Config.OwnDirectories(), s.o.Config.ChosenDirectories()[1:]...) {
		if err := c.CloseBelow(ctx, dir); err != nil && ctx.Err() == nil {
			s.o.Logger.Warn("checking file permissions failed", "path", dir, "error", err)
		}
	}
	s.openFiles.Set(float64(c.Failed + len(openDirectories(s.o.Config))))
	reportClosed(s.o.Logger, &c)
	<-ctx.Done()
	return nil
}
