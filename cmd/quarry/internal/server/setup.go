package server

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
)

// pollOwner is how often a server without an owner looks whether there is one.
const pollOwner = time.Second

// offerSetup writes the link that makes the first owner into a file that only the
// user of the process may read, and logs the name of the file: logs are read by
// more people, and kept in more places, than the data directory. The file is there
// until there is an owner or the server stops, which ends the link.
func (s *Server) offerSetup(ctx context.Context) error {
	select {
	case <-s.accounts.AccountsRunner().CaughtUp():
	case <-ctx.Done():
		return nil
	}
	offer := &setupOffer{s: s, path: filepath.Join(s.o.Config.Data, operator.SetupFileName)}
	offer.updateFile(ctx)
	defer offer.removeFile()
	return boot.RunEvery(ctx, pollOwner, offer.updateFile)
}

// setupOffer is the file with the link.
type setupOffer struct {
	s       *Server
	path    string
	written bool
	failed  bool // what is tried again is logged once
	ended   bool
}

// updateFile writes the file while there is no owner, and removes it afterwards. There
// may be one of a process that was killed.
func (o *setupOffer) updateFile(context.Context) {
	value := o.s.auth.SetupValue()
	switch {
	case value == "" && !o.ended:
		o.ended = true
		o.removeFile()
	case value != "" && !o.written:
		o.writeFile(value)
	}
}

func (o *setupOffer) writeFile(value string) {
	link := strings.TrimSuffix(o.s.publicURL(), "/") + "/setup?token=" + value
	err := secrets.WriteFile(o.s.o.Config.Data, operator.SetupFileName, link)
	if err != nil {
		if !o.failed {
			o.s.o.Logger.Error("no owner yet, and the link that creates the owner cannot be written; trying again", "error", err)
		}
		o.failed = true
		return
	}
	o.written = true
	path, err := filepath.Abs(o.path)
	if err != nil {
		path = o.path
	}
	o.s.o.Logger.Info("no owner yet: open the link in this file in a browser to create the owner", "path", path)
}

// removeFile removes the file.
func (o *setupOffer) removeFile() {
	if err := os.Remove(o.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.s.o.Logger.Warn("the link that created the owner is no longer valid, but its file cannot be removed", "error", err)
	}
}
