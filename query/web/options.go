package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/auth/oidc"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/indexing"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

// Bounds of what pages accept.
const (
	// maxFormBytes bounds a form.
	maxFormBytes = 64 << 10
	// maxReturnBytes bounds a path to return to after the sign-in.
	maxReturnBytes = 512
)

// Front wraps pages in the checks of every request; front.Front implements it.
type Front interface {
	// Page applies the checks that are the same for all requests; label is the name of
	// the page in metrics.
	Page(label string, page http.Handler) http.Handler
	// CodePage wraps a page in the checks of a request that reads code. fail writes the
	// response for callers without permission.
	CodePage(label string, page http.Handler, fail func(w http.ResponseWriter, r *http.Request, err error)) http.Handler
	// SearchPage does the same for a request that searches; fail also writes the response
	// for callers who send too many requests.
	SearchPage(label string, page http.Handler, fail func(w http.ResponseWriter, r *http.Request, err error)) http.Handler
}

// Status provides the indexing status of repositories.
type Status interface {
	Status(ctx context.Context, id code.RepositoryID) (indexing.Status, error)
}

// Options configure a Server. Front, Accounts, Secret and PublicURL are required.
type Options struct {
	Accounts Accounts
	// Repositories finds repositories by name, for keys that are restricted to some. If
	// it is nil, keys cannot be restricted.
	Repositories Repositories
	// Providers are the providers of single sign-on; nil means none.
	Providers *oidc.Client
	// Code and Source provide the data of pages about code; nil disables these pages.
	Code   Code
	Source *source.Browser
	// Search runs searches; nil disables the search pages and the search box.
	Search Searches
	// Contexts are the search contexts that a query may name.
	Contexts map[string]corpus.Context
	// API handles the operations for pages about repositories and administration; nil
	// disables these pages.
	API http.Handler
	// PreviewRegistration checks a registration without doing it: it returns the name and the
	// refs, or the refusal; nil checks nothing before the form is sent.
	PreviewRegistration func(ctx context.Context, in *wire.RegisterRequest) (name string, selection wire.RefSelection, refusal wire.Error)
	// PreviewConnection lists what a connection to a code host would find; nil: the form for it is not
	// shown.
	PreviewConnection func(ctx context.Context, in ConnectionPreview) (ConnectionFound, error)
	// Readiness returns the details of readiness for the administration page, or an error
	// with the reason why the server is not ready; nil shows none.
	Readiness func(ctx context.Context) (*wire.Readiness, error)
	// Gatherer provides the figures of the administration page; nil shows none.
	Gatherer Gatherer
	// Replicas returns those of the shards of a front, for the administration page; nil shows none.
	Replicas func() []sharding.Replica
	// Outline extracts tokens and symbols; nil shows code without colors.
	Outline Outline
	// Status provides the freshness of a repository's index; nil hides it.
	Status Status
	// Work returns what this process does on a repository, without a look at the log; nil reads the
	// Status of a few.
	Work func(id code.RepositoryID) (indexing.Status, bool)
	// Audit records who views the list of members, who requests a page for owners, and
	// sign-ins that fail between the browser and a provider; nil records nothing.
	// Accounts records its own changes, and other sign-ins.
	Audit Auditor
	// Secret is the server's secret; the key of form tokens is derived from it.
	Secret []byte
	// PublicURL is the base of links, without a trailing slash.
	PublicURL string
	// Version is shown at the bottom of pages.
	Version string
	// Front holds the layers that every request passes before a page.
	Front Front

	// Ready returns an error that wraps ErrNotReady while accounts are not available yet;
	// nil is always ready.
	Ready func() error

	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (o *Options) ensureDefaults() {
	if o.Ready == nil {
		o.Ready = func() error { return nil }
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
}

func (o *Options) validate() error {
	if o.Front == nil || o.Accounts == nil || len(o.Secret) == 0 || o.PublicURL == "" {
		return errors.New("web: Front, Accounts, Secret and PublicURL are required")
	}
	if (o.Code == nil) != (o.Source == nil) {
		return errors.New("web: Code and Source come together")
	}
	return nil
}
