package bench

import (
	"context"
	"errors"
	"sync"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
)

// lazyZoekt is a server that starts at its first query. If all figures come from an
// earlier run, it never starts.
type lazyZoekt struct {
	start   func() (*engine.ZoektServer, error)
	once    sync.Once
	running *engine.ZoektServer // nil until used
	failed  error
}

var _ engine.Searcher = (*lazyZoekt)(nil)

var errNotAsked = errors.New("its server was not asked in this run, and no earlier run left the figure")

// Search implements engine.Searcher.
func (l *lazyZoekt) Search(ctx context.Context, q engine.Request) (engine.Answer, error) {
	if err := l.ensureStarted(); err != nil {
		return engine.Answer{}, err
	}
	return l.running.Search(ctx, q)
}

// ensureStarted starts the server if it is not running. It does not retry a failed start.
func (l *lazyZoekt) ensureStarted() error {
	l.once.Do(func() { l.running, l.failed = l.start() })
	return l.failed
}

func (l *lazyZoekt) stop() error {
	if l.running == nil {
		return nil
	}
	return l.running.Stop()
}

// cappedZoekt queries the same server with a cap per shard.
type cappedZoekt struct{ *lazyZoekt }

// Search implements engine.Searcher.
func (c cappedZoekt) Search(ctx context.Context, q engine.Request) (engine.Answer, error) {
	if err := c.ensureStarted(); err != nil {
		return engine.Answer{}, err
	}
	capped := *c.running
	capped.CapShards = true
	return capped.Search(ctx, q)
}
