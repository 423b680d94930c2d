package server

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
	"github.com/quarrysearch/quarry/schemas/clock"
)

// pollOwner is the interval at which a server without an owner checks whether there is
// one.
const pollOwner = time.Second

// offerSetup writes the link that creates the first owner to a file that only the user of
// the process may read, and logs the name of the file. It does not log the link: logs are
// read by more people, and kept in more places, than the data directory. The file exists
// until there is an owner or the server stops, which invalidates the link.
func (s *Server) offerSetup(ctx context.Context) error {
	select {
	case <-s.accounts.AccountsRunner().CaughtUp():
	case <-ctx.Done():
		return nil
	}
	offer := &setupOffer{s: s, path: filepath.Join(s.o.Config.Data, operator.SetupFileName)}
	offer.updateFile(ctx)
	defer offer.removeFile()
	return clock.RunEvery(ctx, pollOwner, offer.updateFile)
}

// setupOffer manages the file with the setup link.
type setupOffer struct {
	s       *Server
	path    string
	written bool
	failed  bool // a failure that repeats is logged once
	ended   bool
}

// updateFile writes the file while there is no owner, and removes it afterwards. A killed
// process may have left such a file.
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

func (o *setupOffer) removeFile() {
	if err := os.Remove(o.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.s.o.Logger.Warn("the link that created the owner is no longer valid, but its file cannot be removed", "error", err)
	}
}
