package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/live"
	"github.com/quarrysearch/quarry/query/precise"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/indexing"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/replay"
)

// Defaults and bounds of Options.
const (
	// DefaultMaxMatches caps the field matches of a search. A request for more is
	// answered up to the cap, and says so.
	DefaultMaxMatches = 1_000_000
	// DefaultMaxBodyBytes is above the longest query that syntax takes, so that an
	// overlong query gets its advice and not a bare 413.
	DefaultMaxBodyBytes = 2 << 20
	// DefaultSearchTimeout ends a search that did not end itself. It is above the
	// searcher's own wait and time limit (search.Options), after which it returns
	// its partial result.
	DefaultSearchTimeout = 45 * time.Second
	// DefaultReadTimeout bounds the arrival of a body, DefaultWriteTimeout the
	// departure of an answer once it is computed.
	DefaultReadTimeout  = 10 * time.Second
	DefaultWriteTimeout = 2 * time.Minute
	// DefaultPartTimeout bounds the departure of 64 KiB of a stream: a reader that
	// is slower is left.
	DefaultPartTimeout = 15 * time.Second
)

// Searcher runs a query; search.Searcher is one.
type Searcher interface {
	// Search returns the matches of r in v, or the context's error. It bounds the
	// searches at once and their time by itself.
	Search(ctx context.Context, v search.View, r search.Request) (*search.Result, error)
	// Stream is Search with the files given to emit in parts, in this goroutine.
	Stream(ctx context.Context, v search.View, r search.Request, emit search.Emit) (*search.Result, error)
	// FindFiles returns files by letters of their paths.
	FindFiles(ctx context.Context, v search.View, r search.FileRequest) (*search.FoundFiles, error)
}

// Views gives the current state of the index.
type Views interface {
	// View returns a view that stays as it is until it is released. An error that
	// wraps ErrUnavailable is answered 503.
	View(ctx context.Context) (search.View, error)
}

// Catalog knows the registered repositories, indexed or not.
type Catalog interface {
	// Repositories returns all of them by name, then ID. Nothing of it is to be
	// changed; it is the same slice as long as nothing has changed.
	Repositories(ctx context.Context) ([]*search.Repository, error)
	// Find returns the registered repository that candidate names: the one with
	// its ID; else the one whose clone URL is the same (code.CloneURL.Same); else,
	// if candidate has no clone URL, the one with its name. The error wraps
	// code.ErrNotFound if there is none.
	Find(ctx context.Context, candidate code.Repository) (code.Repository, error)
}

// Registrar changes the set of registered repositories. Its methods return once
// the event is durable. Errors that wrap ErrRefused are answered 403, ones that
// wrap ErrUnavailable 503.
type Registrar interface {
	// Register appends a RepositoryRegistered, and returns the number of the
	// repository. It checks the policy on clone URLs first: the repository comes from a
	// client. An error that wraps ErrConflict says that no number is left.
	Register(ctx context.Context, r code.Repository) (code.RepositoryNumber, event.Position, error)
	// Remove appends a RepositoryRemoved.
	Remove(ctx context.Context, id code.RepositoryID, reason string) (event.Position, error)
	// Refresh appends a Push with ActionRefresh of all refs.
	Refresh(ctx context.Context, id code.RepositoryID) (event.Position, error)
	// Reindex appends a Push with ActionRefresh for each of refs, in their order,
	// or for all refs if there is none, so that each ref is announced again. It
	// returns the position of the last.
	Reindex(ctx context.Context, id code.RepositoryID, refs []code.Ref) (event.Position, error)
}

// Status knows how far the indexing of a repository is.
type Status interface {
	// Status returns an error that wraps code.ErrNotFound for a repository that is
	// not registered.
	Status(ctx context.Context, id code.RepositoryID) (indexing.Status, error)
	// Skipped returns the files of a ref that are not indexed, ordered by path,
	// from offset on and at most limit, and how many there are in all. An empty
	// ref means the default branch, an empty reason means all. The error wraps
	// code.ErrNotFound for an unknown repository or ref.
	Skipped(ctx context.Context, id code.RepositoryID, ref code.Ref, reason string, offset, limit int) (files []indexing.SkippedFile, total int, err error)
}

// Pictures knows the pictures of repositories.
type Pictures interface {
	// Load returns the picture of a repository and its Content-Type, which is of a kind
	// that runs nothing. Any error but that of the context means that there is none.
	Load(ctx context.Context, r *code.Repository) (body []byte, contentType string, err error)
}

// Errors that the interfaces above may wrap.
var (
	// ErrRefused says that a policy forbids the request, with the reason.
	ErrRefused = errors.New("refused")
	// ErrConflict says that the current state does not allow the request.
	ErrConflict = errors.New("conflict")
	// ErrCursor says that a cursor is none of a page before.
	ErrCursor = errors.New("cursor is not valid")
	// ErrUnavailable says that it cannot be done now, such as a search.
	ErrUnavailable = search.ErrUnavailable
)

// Options configure a Server. Searcher, Views, Catalog, Numbers, Registrar, Status,
// Deliveries, DeadLetters, Source, Outline, Gate and Audit are required.
type Options struct {
	// Accounts is nil in a process without: their routes answer 503.
	Accounts *auth.Service
	// Gate authenticates callers, Audit records what they did.
	Gate  Gate
	Audit front.Auditor
	// AuditLog reads that; nil in a process that has none: its routes answer 503.
	AuditLog  AuditLog
	Searcher  Searcher
	Views     Views
	Catalog   Catalog
	Numbers   Numbers
	Registrar Registrar
	Status    Status
	// SelectRefs says which refs the globs of a repository select, by a look at the
	// code host; nothing if that fails. It is nil in a process without mirrors.
	SelectRefs func(ctx context.Context, r code.Repository) wire.RefSelection
	// Deliveries is the ledger.
	Deliveries  Deliveries
	DeadLetters DeadLetters
	// Replays is nil in a process that has none: its routes answer 503.
	Replays Replays
	// Erasures is nil in a process that makes none: its routes answer 503.
	Erasures Erasures
	// Backups is nil in a process that makes none: its routes answer 503.
	Backups Backups
	// AsOf says which moment of the past answers show; nil, and empty, is the
	// present.
	AsOf func() string
	// Missing says what searches and rebuilds lack; nil is nothing.
	Missing func() replay.Missing
	// Events are what callers follow; nil in a process that has none: the route answers
	// 503.
	Events *live.Feed
	// Source reads files and history of repositories.
	Source *source.Browser
	// Outline reads tokens and symbols of files.
	Outline Outline
	// Precise has the precise indexes; nil in a process that has none: their routes answer
	// 503.
	Precise *precise.Store
	// MaxScipBytes bounds an upload of one.
	MaxScipBytes int64
	// Verifier is nil in a process without mirrors.
	Verifier Verifier
	// Screen filters out repositories that the caller may not read; nil creates
	// one.
	Screen *search.Screen
	// Connections are the kinds of the configured connections, by name.
	Connections map[string]code.HostKind
	// Pictures is nil in a process that fetches none: their route answers 503.
	Pictures Pictures
	// Connectivity is nil in a process that knows no state of connections.
	Connectivity Connectivity
	// Ready says why the server should get no requests yet; nil is always ready.
	Ready func(ctx context.Context) error
	// Writable says why nothing may be changed now; nil is always writable. What is read
	// is not affected.
	Writable func() error
	// Removable says why no repository may be removed now, which frees space; nil is
	// Writable.
	Removable func() error
	// Version is what GET /api/version says.
	Version string
	// Secret signs the IDs of sessions of the Model Context Protocol; processes with
	// the same one know each other's. Nil: they end with the process.
	Secret []byte
	// PublicURL is the base of links, without a final slash.
	PublicURL string

	MaxMatches    int
	MaxBodyBytes  int64
	SearchTimeout time.Duration
	PartTimeout   time.Duration
	ReadTimeout   time.Duration
	WriteTimeout  time.Duration
	Limits        front.Limits
	// Hosts are host names that the server accepts, in addition to IP addresses and
	// names without a dot; nil accepts any name.
	Hosts []string
	// AllowedOrigins are the origins whose pages may ask, such as
	// https://tools.example; "*" is any, without cookies.
	AllowedOrigins []string

	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (o *Options) ensureDefaults() {
	if o.MaxMatches == 0 {
		o.MaxMatches = DefaultMaxMatches
	}
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = DefaultMaxBodyBytes
	}
	if o.SearchTimeout == 0 {
		o.SearchTimeout = DefaultSearchTimeout
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = DefaultReadTimeout
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = DefaultWriteTimeout
	}
	if o.PartTimeout == 0 {
		o.PartTimeout = DefaultPartTimeout
	}
	if o.Ready == nil {
		o.Ready = func(context.Context) error { return nil }
	}
	if o.Missing == nil {
		o.Missing = func() replay.Missing { return replay.Missing{} }
	}
	if o.AsOf == nil {
		o.AsOf = func() string { return "" }
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
	if o.Screen == nil {
		o.Screen = search.NewScreen(search.ScreenOptions{Registerer: o.Registerer})
	}
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
}

func (o *Options) validate() error {
	switch {
	case o.Searcher == nil || o.Views == nil || o.Catalog == nil || o.Numbers == nil || o.Registrar == nil || o.Status == nil || o.Deliveries == nil ||
		o.DeadLetters == nil || o.Source == nil || o.Outline == nil || o.Gate == nil || o.Audit == nil:
		return errors.New("api: Searcher, Views, Catalog, Numbers, Registrar, Status, Deliveries, DeadLetters, Source, Gate and Audit are required")
	case o.MaxMatches < 0 || o.MaxBodyBytes < 0 || o.SearchTimeout < 0 || o.PartTimeout < 0 || o.ReadTimeout < 0 || o.WriteTimeout < 0:
		return errors.New("api: bounds may not be negative")
	}
	if u, err := url.Parse(o.PublicURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("api: public URL %.80q: want http(s)://host", o.PublicURL)
	}
	return nil
}
