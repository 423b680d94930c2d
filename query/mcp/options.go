package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// CallTimeout bounds a call of a tool.
const CallTimeout = 30 * time.Second

// Searcher runs a query; search.Searcher is one.
type Searcher interface {
	// Search returns the matches of r in v, or the context's error.
	Search(ctx context.Context, v search.View, r search.Request) (*search.Result, error)
}

// Views gives the current state of the index.
type Views interface {
	// View returns a view that stays as it is until it is released.
	View(ctx context.Context) (search.View, error)
}

// Catalog knows the registered repositories, indexed or not.
type Catalog interface {
	// Repositories returns all of them by name, then ID. Nothing of it is to be
	// changed.
	Repositories(ctx context.Context) ([]*search.Repository, error)
}

// Options configure a Server. Searcher, Views, Catalog, Source, Visible and
// PublicURL are required.
type Options struct {
	Searcher Searcher
	Views    Views
	Catalog  Catalog
	Source   *source.Browser
	// Visible returns which repositories exist for a principal now.
	Visible func(p *auth.Principal) auth.Visible
	// Screen hides what does not exist for a principal; nil for one of its own.
	Screen *search.Screen
	// Note takes a record for the audit log; nil keeps none. What it refuses is not
	// answered.
	Note func(ctx context.Context, rec audit.Record) error
	// Secret signs session IDs: processes with the same one know each other's. Nil
	// makes one that is forgotten with the process.
	Secret []byte
	// PublicURL is the base of links.
	PublicURL string
	// Version is told to clients.
	Version    string
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (o *Options) ensureDefaults() {
	if o.Note == nil {
		o.Note = func(context.Context, audit.Record) error { return nil }
	}
	if o.Secret == nil {
		o.Secret = make([]byte, 32)
		_, _ = rand.Read(o.Secret) // never fails
	}
	if o.Screen == nil {
		o.Screen = search.NewScreen(search.ScreenOptions{})
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
}

func (o *Options) validate() error {
	if o.Searcher == nil || o.Views == nil || o.Catalog == nil || o.Source == nil || o.Visible == nil {
		return errors.New("mcp: Searcher, Views, Catalog, Source and Visible are required")
	}
	if u, err := url.Parse(o.PublicURL); err != nil || u.Host == "" {
		return fmt.Errorf("mcp: public URL %.80q: want http(s)://host", o.PublicURL)
	}
	return nil
}
