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
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/query/precise"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// CallTimeout bounds a call of a tool.
const CallTimeout = 30 * time.Second

// Searcher runs a query; assist.Searcher is one.
type Searcher interface {
	// Search returns the matches of r in v, or the context's error.
	Search(ctx context.Context, v corpus.View, r search.Request) (*search.Result, error)
}

// FileFinder finds files; search.Searcher is one.
type FileFinder interface {
	// FindFiles returns the files whose paths contain the letters of r, best first, or
	// search.ErrBusy or the context's error.
	FindFiles(ctx context.Context, v corpus.View, r search.FileRequest) (*search.FoundFiles, error)
}

// VisibleIndex is the part of the index that the principal of the context (auth.From) may
// read.
type VisibleIndex interface {
	// View returns an immutable view. The caller must release it.
	View(ctx context.Context) (corpus.View, error)
	// Repository returns the repository with that full name. The error wraps
	// code.ErrNotFound if there is none.
	Repository(ctx context.Context, name string) (*code.Repository, error)
	// Repositories returns the registered repositories, indexed or not, whose full names
	// contain filter, ignoring case. They are sorted by name, or by last push if sort is
	// "pushed", with those never pushed at the end. The caller must not modify the
	// result.
	Repositories(ctx context.Context, sort, filter string) ([]*corpus.Repository, error)
}

// Options configure a Server. Searcher, FileFinder, Index, Source, Outline and PublicURL are required.
type Options struct {
	Searcher Searcher
	// FileFinder finds files by their paths.
	FileFinder FileFinder
	Index      VisibleIndex
	Source     *source.Browser
	// Outline distinguishes references from comments and strings.
	Outline navigate.Outline
	// Precise holds the precise indexes; nil in a process that has none.
	Precise *precise.Store
	// ParseQuery parses a query of a caller, whose saved searches it may name; nil knows none.
	ParseQuery func(p *auth.Principal, text string, o syntax.Options) (*syntax.Parsed, error)
	// Note adds a record to the audit log; nil keeps none. If it fails, the call is not
	// answered.
	Note func(ctx context.Context, rec audit.Record) error
	// Secret signs session IDs. Processes with the same secret accept each other's IDs.
	// If nil, New generates one that is lost when the process ends.
	Secret []byte
	// Behind reports whether a search that begins now may lack what was pushed recently;
	// nil means never.
	Behind func() bool
	// PublicURL is the base of links.
	PublicURL string
	// Version is reported to clients.
	Version    string
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (o *Options) ensureDefaults() {
	if o.ParseQuery == nil {
		o.ParseQuery = (*auth.Service)(nil).ParseQuery
	}
	if o.Note == nil {
		o.Note = func(context.Context, audit.Record) error { return nil }
	}
	if o.Behind == nil {
		o.Behind = func() bool { return false }
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
	if o.Searcher == nil || o.FileFinder == nil || o.Index == nil || o.Source == nil || o.Outline == nil {
		return errors.New("mcp: Searcher, FileFinder, Index, Source and Outline are required")
	}
	if u, err := url.Parse(o.PublicURL); err != nil || u.Host == "" {
		return fmt.Errorf("mcp: public URL %.80q: want http(s)://host", o.PublicURL)
	}
	return nil
}
