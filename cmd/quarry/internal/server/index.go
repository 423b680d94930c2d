package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/deliveries"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/search"
)

// errCatchingUp is why a server that has just begun is not ready.
var errCatchingUp = errors.New("the projections are catching up with the log")

// index is the projections of a process, over one store.
type index struct {
	catalog *catalog.Catalog
	places  *places.Places
	ledger  *deliveries.Ledger
	runner  *projections.Runner
	repair  *repairer // nil in a rebuild
	// positions is nil in a rebuild.
	positions *positions
}

// indexOptions say what an index is built on.
type indexOptions struct {
	Options
	store   *store.Store
	log     projections.Tailer
	dead    projections.Appender // nil in a rebuild
	objects segmentstore.Store
	cache   *segment.Cache
}

// openProjections opens the projections of a store.
func openProjections(ctx context.Context, o indexOptions, decoder *projections.Decoder) (*index, error) {
	repositories, err := catalog.Open(catalog.Options{Store: o.store, Decoder: decoder, Logger: o.Logger, Registerer: o.Registerer})
	if err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	where, err := places.Open(ctx, places.Options{
		Store: o.store, Decoder: decoder, Objects: o.objects, DeleteObjects: o.dead != nil, Cache: o.cache, Logger: o.Logger, Registerer: o.Registerer,
	})
	if err != nil {
		repositories.Close()
		return nil, fmt.Errorf("open places: %w", err)
	}
	ledger, err := deliveries.Open(deliveries.Options{Store: o.store, Decoder: decoder, Registerer: o.Registerer})
	if err != nil {
		where.Close()
		repositories.Close()
		return nil, fmt.Errorf("open deliveries: %w", err)
	}
	return &index{catalog: repositories, places: where, ledger: ledger}, nil
}

// openIndex opens the projections of a store and what applies the log to them.
func openIndex(ctx context.Context, o indexOptions) (*index, error) {
	decoder := projections.NewDecoder(o.objects)
	i, err := openProjections(ctx, o, decoder)
	if err != nil {
		return nil, err
	}
	i.runner, err = projections.New(projections.Options{
		Store: o.store, Log: o.log, Decoder: decoder, Projections: i.projections(),
		DeadLetters: o.dead, Logger: o.Logger, Registerer: o.Registerer,
	})
	if err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

// projections are applied and published in this order. The ledger is the last: it
// notes when the others have published.
func (i *index) projections() []projections.Projection {
	return []projections.Projection{i.catalog, i.places, i.ledger}
}

func (i *index) close() {
	i.ledger.Close()
	i.places.Close()
	i.catalog.Close()
}

// add adds the actors of the projections.
func (i *index) add(group *boot.Group) {
	group.Add("projections", i.runner.Run)
	group.Add("places", i.places.Run)
	group.Add("repair", i.repair.Run)
	group.Add("positions", i.positions.Run)
}

// openQuery opens the projections and the API over them.
func (s *Server) openQuery(ctx context.Context) error {
	if !s.o.Config.Has(roleQuery) {
		return nil
	}
	home, err := projections.OpenHome(s.o.Config.ProjectionsDir())
	if err != nil {
		return err
	}
	s.frames = segment.NewCache(int(s.o.Config.Cache.FramesBytes))
	s.opened(s.frames)
	err = s.openIndex(ctx, home)
	if errors.Is(err, projections.ErrSchema) {
		err = s.renew(ctx, home, err)
	}
	if err != nil {
		return err
	}
	if err := home.Clean(); err != nil {
		return err
	}
	s.repositories = &repositories{catalog: s.index.catalog}
	return s.openAPI()
}

// openIndex opens the live store of home and the projections over it.
func (s *Server) openIndex(ctx context.Context, home *projections.Home) error {
	c := s.o.Config
	dir, err := home.Current()
	if err != nil {
		return err
	}
	rows, err := store.Open(dir, store.Options{CacheBytes: int64(c.Cache.BlocksBytes), Logger: s.o.Logger, Registerer: s.o.Registerer})
	if err != nil {
		return fmt.Errorf("open projections: %w", err)
	}
	s.index, err = openIndex(ctx, indexOptions{
		Options: s.o, store: rows, log: tailer{s.log}, dead: s.log, objects: s.segments, cache: s.frames,
	})
	if err != nil {
		return errors.Join(err, rows.Close())
	}
	s.index.repair = newRepairer(s.log, s.index.places, s.o.Logger)
	s.index.positions = newPositions(s.log, s.index.runner.Checkpoints, s.o.Logger, s.o.Registerer)
	s.opened(rows)
	s.opened(closer(s.index.close))
	return nil
}

// renew rebuilds projections that another version of the program wrote, for the
// given reason, and opens them.
func (s *Server) renew(ctx context.Context, home *projections.Home, reason error) error {
	s.o.Logger.Info("rebuilding the projections from the log", "reason", reason)
	_, err := rebuild(ctx, s.o, home, tailer{s.log}, s.segments, func(done, total int64) {
		s.o.Logger.Info("rebuilding", "records", done, "of", total)
	})
	if err != nil {
		return err
	}
	return s.openIndex(ctx, home)
}

// searchSlack is what a request has beyond the time of its search and of the wait
// before it: a search whose time is over still answers with what it has.
const searchSlack = 15 * time.Second

func (s *Server) openAPI() error {
	c := s.o.Config

	server, err := api.New(api.Options{
		Searcher: search.New(search.Options{
			MaxDuration:   c.Query.Timeout.Std(),
			MaxConcurrent: c.Query.MaxConcurrent, MaxWaiting: c.Query.MaxWaiting, MaxWait: c.Query.MaxWait.Std(),
			MaxHeavy: c.Query.MaxHeavy, MaxHeavyWaiting: c.Query.MaxHeavyWaiting,
			MaxScanBytes: int64(c.Query.MaxScanBytes), MaxMemoryBytes: int64(c.Query.MaxMemoryBytes),
			TotalMemoryBytes: int64(c.Query.TotalMemoryBytes), MaxResultBytes: int64(c.Query.MaxResultBytes),
			Contexts: searchContexts(c.Query.Contexts), Registerer: s.o.Registerer,
		}),
		Views:         &views{places: s.index.places},
		Catalog:       s.repositories,
		Registrar:     s.registrar,
		Status:        s.statuses(),
		Deliveries:    &ledger{deliveries: s.index.ledger, catalog: s.index.catalog, registrar: s.registrar},
		Ready:         s.ready,
		Version:       s.o.Version,
		PublicURL:     s.publicURL(),
		MaxMatches:    c.Query.MaxMatches,
		MaxBodyBytes:  int64(c.Query.MaxBodyBytes),
		SearchTimeout: c.Query.Timeout.Std() + c.Query.MaxWait.Std() + searchSlack,
		Logger:        s.o.Logger,
		Registerer:    s.o.Registerer,
	})
	if err != nil {
		return err
	}
	s.api = server
	return nil
}

func (s *Server) statuses() *statuses {
	return &statuses{
		log: s.log, catalog: s.index.catalog, places: s.index.places,
		applied: newApplied(s.log, workerGroup, s.index.runner.Checkpoints),
		working: s.working,
	}
}

// ready is nil once the projections have what the log held at the start.
func (s *Server) ready(context.Context) error {
	select {
	case <-s.index.runner.CaughtUp():
		return nil
	default:
		return errCatchingUp
	}
}
