package web

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/auth/oidc"
	"github.com/quarrysearch/quarry/query/source"
)

// Bounds of what pages take and show.
const (
	// maxFormBytes bounds a form.
	maxFormBytes = 64 << 10
	// maxReturnBytes bounds a path to return to after the sign-in.
	maxReturnBytes = 512
)

// Options configure a Server. Accounts, Secret and PublicURL are required.
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
	// Around puts what is in front of every request before a page, under the name
	// that metrics have for it; as it is if nil.
	Around func(route string, page http.Handler) http.Handler

	// Ready says why accounts cannot be looked at yet, with an error that wraps
	// ErrNotReady; nil is always ready.
	Ready func() error

	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (o *Options) ensureDefaults() {
	if o.Around == nil {
		o.Around = func(_ string, page http.Handler) http.Handler { return page }
	}
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
	if o.Accounts == nil || len(o.Secret) == 0 || o.PublicURL == "" {
		return errors.New("web: Accounts, Secret and PublicURL are required")
	}
	if (o.Code == nil) != (o.Source == nil) {
		return errors.New("web: Code and Source come together")
	}
	return nil
}
