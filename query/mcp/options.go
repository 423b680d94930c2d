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

	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/query/precise"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// CallTimeout bounds a call of a tool.
const CallTimeout = 30 * time.Second

// Searcher runs a query; search.Searcher is one.
type Searcher interface {
	// Search returns the matches of r in v, or the context's error.
	Search(ctx context.Context, v search.View, r search.Request) (*search.Result, error)
	// FindFiles returns the files that have the letters of r in their paths, the best
	// first, or search.ErrBusy or the context's error.
	FindFiles(ctx context.Context, v search.View, r search.FileRequest) (*search.FoundFiles, error)
}

// VisibleIndex is the part of the index that the principal of the context (auth.From) may read.
type VisibleIndex interface {
	// View returns a view that stays as it is until it is released.
	View(ctx context.Context) (search.View, error)
	// Repository returns the repository with that full name. The error wraps
	// code.ErrNotFound if there is none.
	Repository(ctx context.Context, name string) (*code.Repository, error)
	// Repositories returns the registered ones with filter, in any case, in their
	// full name, indexed or not; by name, or by their last push if sort is "pushed",
	// with those that have none at the end. Nothing of it is to be changed.
	Repositories(ctx context.Context, sort, filter string) ([]*search.Repository, error)
}

// Options configure a Server. Searcher, Index, Source, Outline and PublicURL are required.
type Options struct {
	Searcher Searcher
	Index    VisibleIndex
	Source   *source.Browser
	// Outline tells references from comments and strings.
	Outline navigate.Outline
	// Precise has the precise indexes; nil in a process that has none.
	Precise *precise.Store
	// Note takes a record for the audit log; nil keeps none. What it refuses is not
	// answered.
	Note func(ctx context.Context, rec audit.Record) error
	// Secret signs session IDs: processes with the same one know each other's. Nil
	// makes one that is forgotten with the process.
	Secret []byte
	// PublicURL is the base of links.
	PublicURL string
	// Version is reported to clients.
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
	if o.Searcher == nil || o.Index == nil || o.Source == nil || o.Outline == nil {
		return errors.New("mcp: Searcher, Index, Source and Outline are required")
	}
	if u, err := url.Parse(o.PublicURL); err != nil || u.Host == "" {
		return fmt.Errorf("mcp: public URL %.80q: want http(s)://host", o.PublicURL)
	}
	return nil
}
