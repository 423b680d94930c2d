package server

import (
	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/codehosts"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/connections"
	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/pictures"
	"github.com/quarrysearch/quarry/pipeline/pins"
)

// openDiscovery opens the syncer, which discovers the repositories of connections, the
// loader of their pictures, and the pinner, which keeps their pins up to date.
func (s *Server) openDiscovery() (err error) {
	c := s.o.Config.Discovery
	s.discovery, err = discovery.New(discovery.Options{
		Kinds: codehosts.Listers(), Log: tracedLog{s.log, s.traces.Tracer(), "sync"}, Catalog: s.repositories.ForDiscovery(), Admit: s.registrar.CheckPolicy,
		Renew: s.codeHosts.RenewConnection, Dial: s.policy.Guard().DialContext,
		Interval: c.Interval.Std(), Concurrency: c.Concurrency, MaxRepositories: c.MaxRepositories, RequestTimeout: c.RequestTimeout.Std(),
		Audit: s.noteChange,
		Now:   boot.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
	if err != nil {
		return err
	}
	s.pictures, err = pictures.New(pictures.Options{
		Dial: s.policy.Guard().DialContext, Connection: s.codeHosts.RenewConnection, Now: boot.Now, Registerer: s.o.Registerer,
	})
	if err != nil {
		return err
	}
	s.pinner, err = pins.New(pins.Options{
		Log: s.log, Catalog: s.repositories.ForPins(), Now: boot.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
	if err != nil {
		return err
	}
	s.connectivity = connections.New(s.discovery, s.permissions)
	s.setConnections(s.o.Config, s.connections.Discovered)
	return nil
}

// setConnections starts discovery and numbering of the connections in the given settings.
func (s *Server) setConnections(c *config.Config, discovered []discovery.Connection) {
	if s.connectivity == nil {
		return
	}
	s.connectivity.SetConnections(c, discovered)
	s.numbering.SetConnections(codehosts.Names(c))
}
