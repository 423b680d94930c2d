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
	"github.com/quarrysearch/quarry/query/corpus"
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
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// Defaults and bounds of Options.
const (
	// DefaultMaxMatches caps the matches of a search. A request for more returns at most
	// that many, and reports that it was capped.
	DefaultMaxMatches = 1_000_000
	// DefaultMaxBodyBytes exceeds the longest query that syntax accepts, so that an
	// overlong query gets advice instead of a bare 413.
	DefaultMaxBodyBytes = 2 << 20
	// DefaultSearchTimeout ends a search that did not end by itself. It exceeds the
	// searcher's own wait and time limit (search.Options), after which the searcher
	// returns a partial result.
	DefaultSearchTimeout = 45 * time.Second
	// DefaultReadTimeout bounds reading a body, and DefaultWriteTimeout writing a
	// response once it is computed.
	DefaultReadTimeout  = 10 * time.Second
	DefaultWriteTimeout = 2 * time.Minute
	// DefaultPartTimeout bounds writing 64 KiB of a stream: slower readers are
	// disconnected.
	DefaultPartTimeout = 15 * time.Second
)

// Searcher runs queries; assist.Searcher implements it.
type Searcher interface {
	// Search returns the matches of r in v, or the context's error. It bounds concurrent
	// searches and their time.
	Search(ctx context.Context, v corpus.View, r search.Request) (*search.Result, error)
	// Stream is Search, except that it passes the files to emit in parts, in this
	// goroutine.
	Stream(ctx context.Context, v corpus.View, r search.Request, emit search.Emit) (*search.Result, error)
}

// FileFinder finds files; search.Searcher implements it.
type FileFinder interface {
	// FindFiles returns files by characters of their paths.
	FindFiles(ctx context.Context, v corpus.View, r search.FileRequest) (*search.FoundFiles, error)
}

// Views provides views of the index.
type Views interface {
	// View returns a view that does not change until it is released. An error that wraps
	// failure.ErrUnavailable becomes a 503. If the view has the method MissingDocuments() int, a
	// search of a view that lacks documents is not exhaustive.
	View(ctx context.Context) (corpus.View, error)
}

// CoveredViews are Views of other processes, each of which sees another part of the log.
type CoveredViews interface {
	Views
	// CoveredView returns a view with what it covers. It has reached WantedPosition, or lacks
	// the partitions that have not.
	CoveredView(ctx context.Context) (corpus.View, Coverage, error)
}

// Catalog provides the registered repositories, indexed or not.
type Catalog interface {
	// Repositories returns all repositories ordered by name, then ID. The caller must not
	// modify the result; it is the same slice as long as nothing changes.
	Repositories(ctx context.Context) ([]*corpus.Repository, error)
	// Find returns the registered repository that candidate identifies: the one with its
	// ID; else the one whose clone URL is the same (code.CloneURL.Same); else, if
	// candidate has no clone URL, the one with its name. The error wraps code.ErrNotFound
	// if there is none.
	Find(ctx context.Context, candidate code.Repository) (code.Repository, error)
}

// Registrar changes the set of registered repositories. Its methods return once the event
// is durable. Errors that wrap failure.ErrRefused become a 403, failure.ErrUnavailable a 503.
type Registrar interface {
	// Register appends a RepositoryRegistered, and returns the number of the repository.
	// It first checks the policy on clone URLs, because the repository comes from a
	// client. The error wraps failure.ErrConflict if no number is left.
	Register(ctx context.Context, r code.Repository) (code.RepositoryNumber, event.Position, error)
	// Rename appends RepositoryChanged events that replace the description of a registered
	// repository, and returns the position of the last one. It first checks the policy on
	// clone URLs if the clone URL changes.
	Rename(ctx context.Context, from, to code.Repository) (event.Position, error)
	// Remove appends a RepositoryRemoved.
	Remove(ctx context.Context, id code.RepositoryID, reason string) (event.Position, error)
	// Refresh appends a Push with ActionRefresh for all refs.
	Refresh(ctx context.Context, id code.RepositoryID) (event.Position, error)
	// Reindex appends a Push with ActionRefresh for each ref in refs, in order, or for
	// all refs if refs is empty, so that each ref is announced again. It returns the
	// position of the last event.
	Reindex(ctx context.Context, id code.RepositoryID, refs []code.Ref) (event.Position, error)
}

// Status provides the indexing status of repositories.
type Status interface {
	// Status returns the status of a repository. The error wraps code.ErrNotFound if it
	// is not registered.
	Status(ctx context.Context, id code.RepositoryID) (indexing.Status, error)
	// Skipped returns the skipped files of a ref, ordered by path, at most limit from
	// offset on, and their total number. An empty ref means the default branch, an empty
	// reason means all. The error wraps code.ErrNotFound for an unknown repository or
	// ref.
	Skipped(ctx context.Context, id code.RepositoryID, ref code.Ref, reason string, offset, limit int) (files []indexing.SkippedFile, total int, err error)
}

// Pictures provides the pictures of repositories.
type Pictures interface {
	// Load returns the picture of a repository and its Content-Type, which must not allow
	// active content. Any error except that of the context means that there is none.
	Load(ctx context.Context, r *code.Repository) (body []byte, contentType string, err error)
}

// Options configure a Server. Searcher, FileFinder, Views, Catalog, Numbers, Registrar, Status,
// Deliveries, DeadLetters, Source, Outline, Gate and Audit are required.
type Options struct {
	// Accounts is nil in a process without accounts: their routes return 503.
	Accounts *auth.Service
	// Gate authenticates callers, and Audit records requests.
	Gate  Gate
	Audit front.Auditor
	// AuditLog reads the audit log; nil in a process without one: its routes return 503.
	AuditLog AuditLog
	Searcher Searcher
	// FileFinder finds files by their paths.
	FileFinder FileFinder
	Views      Views
	// Part is what the process holds of the text. Default: PartAll.
	Part Part
	// Screened means that Views returns views of only what the context's caller may see.
	Screened  bool
	Catalog   Catalog
	Numbers   Numbers
	Registrar Registrar
	Status    Status
	// SelectRefs lists the refs of a repository at its code host, and returns those that
	// its globs select; empty if it has none, or in a process without mirrors. The error
	// wraps failure.ErrRefused or failure.ErrUnavailable if the policy does not allow the clone URL, and
	// otherwise has a code of schemas/failure. It may be nil.
	SelectRefs  func(ctx context.Context, r code.Repository) (wire.RefSelection, error)
	Deliveries  Deliveries
	DeadLetters DeadLetters
	// Replays is nil in a process without replays: their routes return 503.
	Replays Replays
	// Snapshots is nil in a process without projections: its routes return 503.
	Snapshots Snapshots
	// Erasures is nil in a process without erasures: their routes return 503.
	Erasures Erasures
	// Backups is nil in a process without backups: their routes return 503.
	Backups Backups
	// AsOf returns the moment in the past that responses show; nil or an empty result
	// means the present.
	AsOf func() string
	// Coverage returns what a search that begins after the call sees of the event log. It
	// must not read the log. Nil means everything.
	Coverage func() Coverage
	// MaxLag is the longest Coverage.Age with which a search may be exhaustive; 0 means any.
	MaxLag time.Duration
	// Positions waits for positions; nil in a process that knows none.
	Positions Positions
	// PositionSecret has 32 bytes and encrypts the positions of callers who may not see
	// every repository; nil: they get none.
	PositionSecret []byte
	// PositionWait bounds the wait for a position. Default: DefaultPositionWait.
	PositionWait time.Duration
	// Missing returns what searches and rebuilds lack; nil means nothing.
	Missing func() replay.Missing
	// Events is the feed that callers follow; nil in a process without one: the route
	// returns 503.
	Events *live.Feed
	// Source reads files and history of repositories.
	Source *source.Browser
	// Outline reads tokens and symbols of files.
	Outline Outline
	// Precise holds the precise indexes; nil in a process without them: their routes
	// return 503.
	Precise *precise.Store
	// MaxScipBytes bounds an upload of a precise index.
	MaxScipBytes int64
	// Verifier is nil in a process without mirrors.
	Verifier Verifier
	// Screen filters out repositories that the caller may not read; nil creates one.
	Screen *corpus.Screen
	// Connections maps the names of the configured connections to their kinds.
	Connections map[string]code.HostKind
	// Pictures is nil in a process that fetches none: their route returns 503.
	Pictures Pictures
	// Connectivity is nil in a process without the state of connections.
	Connectivity Connectivity
	// Ready returns an error if the server should get no requests yet; nil is always
	// ready.
	Ready func(ctx context.Context) error
	// Writable returns an error with the reason if changes are not possible now. Reads
	// are not affected. Nil means always writable.
	Writable func() error
	// Removable returns an error if repositories cannot be removed now, which frees
	// space; nil means Writable.
	Removable func() error
	// Version is the result of GET /api/version.
	Version string
	// Secret signs the session IDs of the Model Context Protocol; processes with the same
	// secret accept each other's sessions. Nil: they end with the process.
	Secret []byte
	// PublicURL is the base of links, without a trailing slash.
	PublicURL string

	MaxMatches    int
	MaxBodyBytes  int64
	SearchTimeout time.Duration
	PartTimeout   time.Duration
	ReadTimeout   time.Duration
	WriteTimeout  time.Duration
	Limits        front.Limits
	LogsRequests  bool
	// Hosts are host names that the server accepts, in addition to IP addresses and
	// names without a dot; nil accepts any name.
	Hosts []string
	// AllowedOrigins are the origins whose pages may send requests, such as
	// https://tools.example; "*" is any, without cookies.
	AllowedOrigins []string

	Now        func() time.Time
	Tracer     *tracing.Tracer // nil traces nothing
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
	if o.Coverage == nil {
		o.Coverage = func() Coverage { return Coverage{} }
	}
	if o.PositionWait == 0 {
		o.PositionWait = DefaultPositionWait
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
		o.Screen = corpus.NewScreen(corpus.ScreenOptions{Registerer: o.Registerer})
	}
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
}

func (o *Options) validate() error {
	switch {
	case o.Searcher == nil || o.FileFinder == nil || o.Views == nil || o.Catalog == nil || o.Numbers == nil || o.Registrar == nil || o.Status == nil || o.Deliveries == nil ||
		o.DeadLetters == nil || o.Source == nil || o.Outline == nil || o.Gate == nil || o.Audit == nil:
		return errors.New("api: Searcher, FileFinder, Views, Catalog, Numbers, Registrar, Status, Deliveries, DeadLetters, Source, Gate and Audit are required")
	case o.MaxLag < 0 || o.PositionWait < 0 || o.MaxMatches < 0 || o.MaxBodyBytes < 0 || o.SearchTimeout < 0 || o.PartTimeout < 0 || o.ReadTimeout < 0 || o.WriteTimeout < 0:
		return errors.New("api: bounds may not be negative")
	}
	if u, err := url.Parse(o.PublicURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("api: public URL %.80q: want http(s)://host", o.PublicURL)
	}
	return nil
}
