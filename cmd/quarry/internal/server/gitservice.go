package server

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/gitreads"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/query/rpc"
)

// newGitReads returns reads of the mirrors of this process.
func (s *Server) newGitReads() *gitreads.Reads {
	if s.mirrorRequester == nil {
		s.mirrorRequester = repair.NewMirrorRequester(s.log, boot.Now, s.o.Logger, s.damage)
	}
	return gitreads.New(func() *mirror.Mirrors { return s.pipeline.mirrors }, s)
}

// openGitService answers the git reads of other processes.
func (s *Server) openGitService(context.Context) error {
	c := s.o.Config
	if c.Git.Listen == "" || !c.Has(config.RolePipeline) {
		return nil
	}
	if s.masterSecret == nil { // without the role query
		value, err := c.Access.Secret.Value()
		if err != nil {
			return fmt.Errorf("access.secret: %w", err)
		}
		s.masterSecret = secrets.Master(value)
	}
	reads := s.newGitReads()
	return s.servePeers(c.Git.Listen, "git.listen", rpc.ServerOptions{
		Secret:     s.masterSecret.DerivePeerSecret(),
		Git:        &rpc.GitService{Git: reads, Mirrors: reads, Holds: s.holdsRepository},
		Logger:     s.o.Logger,
		Registerer: s.o.Registerer,
	})
}
