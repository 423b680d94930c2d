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
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/indexing"
)

// Bounds of what pages take and show.
const (
	// maxFormBytes bounds a form.
	maxFormBytes = 64 << 10
	// maxReturnBytes bounds a path to return to after the sign-in.
	maxReturnBytes = 512
)

// Front wraps pages in the checks of every request; front.Front is one.
type Front interface {
	// Page checks what is the same for all requests; label is the name of the page in
	// metrics.
	Page(label string, page http.Handler) http.Handler
	// CodePage wraps a page in the checks of a request that reads code. fail writes
	// the response for callers without permission.
	CodePage(label string, page http.Handler, fail func(w http.ResponseWriter, r *http.Request, err error)) http.Handler
	// SearchPage does the same for a request that searches, and fail also writes the
	// response for callers who send too many.
	SearchPage(label string, page http.Handler, fail func(w http.ResponseWriter, r *http.Request, err error)) http.Handler
}

// Status knows how far the indexing of a repository is.
type Status interface {
	Status(ctx context.Context, id code.RepositoryID) (indexing.Status, error)
}

// Options configure a Server. Front, Accounts, Secret and PublicURL are required.
type Options struct {
	Accounts Accounts
	// Repositories are found by name, for keys that are restricted to some. Nil:
	// no key can be.
	Repositories Repositories
	// Providers are those of single sign-on; nil: none.
	Providers *oidc.Client
	// Code and Source are what pages about code show; nil: there are none.
	Code   Code
	Source *source.Browser
	// Search is what searches; nil: there are no pages that search, and no search box.
	Search Searches
	// Contexts are the search contexts that a query may name.
	Contexts map[string]search.Context
	// API answers the operations that pages about repositories and the operation of the
	// server show; nil: there are no such pages.
	API http.Handler
	// Gatherer gives the figures of the page of operation; nil: it shows none.
	Gatherer Gatherer
	// Outline reads tokens and symbols; nil: code is plain.
	Outline Outline
	// Status says how fresh the index of a repository is; nil: pages do not say.
	Status Status
	// Audit records who views the list of members, who requests a page that is for
	// owners, and sign-ins that fail between the browser and a provider; nil
	// records nothing. Accounts records its own changes, and other sign-ins.
	Audit Auditor
	// Secret is the server's; the key of the tokens of forms follows from it.
	Secret []byte
	// PublicURL is the base of links, without a final slash.
	PublicURL string
	// Version is what pages say at their foot.
	Version string
	// Front is what every request passes before a page.
	Front Front

	// Ready says why accounts cannot be looked at yet, with an error that wraps
	// ErrNotReady; nil is always ready.
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
