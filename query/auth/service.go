package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/publicurl"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Defaults and bounds of Options.
const (
	// MinSecretBytes is the minimum length of Options.Secret.
	MinSecretBytes = 32
	// DefaultSessionTTL is how long a sign-in lasts, regardless of rotation.
	DefaultSessionTTL = 30 * 24 * time.Hour
	// DefaultRotateAfter is the age at which a session gets a new value.
	DefaultRotateAfter = 24 * time.Hour
	// DefaultInvitationTTL is how long an invitation is valid, and MaxInvitationTTL the
	// maximum.
	DefaultInvitationTTL = 7 * 24 * time.Hour
	MaxInvitationTTL     = 90 * 24 * time.Hour
	// changeTimeout bounds the time from the append of an event until the directory has
	// applied it. After that the caller gets ErrUnavailable, and the event may still take
	// effect.
	changeTimeout = 10 * time.Second
)

// Options configure a Service. Directory, Appender and Secret are required.
type Options struct {
	Directory Directory
	Appender  Appender
	// Recorder records failed sign-ins and links for lost passwords; nil disables that.
	Recorder Recorder
	// Secret keys the hashes of credentials: at least MinSecretBytes, the same in every
	// query process. Changing it invalidates every credential.
	Secret []byte
	// Operator is the value of the operator's token; empty means there is none.
	Operator string
	// Anonymous lets requests without a credential read public repositories.
	Anonymous bool
	// DefaultVisibility applies to repositories for which neither an owner nor the code
	// host has set a visibility; the default is public.
	DefaultVisibility account.Visibility
	// HostRules returns, by connection name, how the permissions of the code hosts apply:
	// the same map until the settings change. Nil means that they do not apply.
	HostRules func() map[string]HostRule
	// AdmitAll activates people who use single sign-on without an invitation; otherwise
	// they wait for an owner's approval.
	AdmitAll bool
	// LinkByEmail lets an identity with a verified e-mail address sign in as the user
	// with that address. It trusts the provider with every account.
	LinkByEmail bool
	// PublicURL is the address at which people reach the server. Its zero value is the
	// root of a host, by http.
	PublicURL publicurl.URL

	SessionTTL    time.Duration
	RotateAfter   time.Duration
	InvitationTTL time.Duration
	// Hashing bounds the cost of passwords.
	Hashing Hashing

	// Ready returns an error until the Directory has caught up with the log as of the
	// start; nil is always ready. Until then only the operator is admitted, and no caller
	// is rejected: a key may have been deleted or created in the meantime. It is called
	// for every request.
	Ready func() error
	// Address returns the client address of a request, without port; the default is the
	// peer's address. Set it behind proxies that send the client address in a header.
	Address func(r *http.Request) string
	// Catalog finds the registered repositories. Without it no credential can be
	// restricted to repositories.
	Catalog Catalog

	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (o *Options) ensureDefaults() {
	setDefault(&o.DefaultVisibility, account.Public)
	setDefault(&o.SessionTTL, DefaultSessionTTL)
	setDefault(&o.RotateAfter, DefaultRotateAfter)
	setDefault(&o.InvitationTTL, DefaultInvitationTTL)
	o.Hashing.ensureDefaults()
	if o.Ready == nil {
		o.Ready = func() error { return nil }
	}
	if o.HostRules == nil {
		o.HostRules = func() map[string]HostRule { return nil }
	}
	if o.Address == nil {
		o.Address = PeerAddress
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
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (o *Options) validate() error {
	switch {
	case o.Directory == nil || o.Appender == nil:
		return errors.New("auth: Directory and Appender are required")
	case len(o.Secret) < MinSecretBytes:
		return fmt.Errorf("auth: the secret has %d bytes, want at least %d", len(o.Secret), MinSecretBytes)
	case o.Operator != "" && kindOf(o.Operator) != account.PrefixOperator:
		return fmt.Errorf("auth: the operator's token is not %s and %d hexadecimal characters", account.PrefixOperator, secretHexBytes)
	case !o.DefaultVisibility.Valid():
		return fmt.Errorf("auth: default visibility %.40q: want public, internal or private", string(o.DefaultVisibility))
	case o.SessionTTL < 0 || o.RotateAfter < 0 || o.InvitationTTL < 0 || o.InvitationTTL > MaxInvitationTTL:
		return errors.New("auth: times must not be negative, and invitations must expire within 90 days")
	}
	return o.Hashing.validate()
}

// Catalog finds repositories; api.Catalog is one.
type Catalog interface {
	// Find returns the registered repository with the ID of candidate. The error
	// wraps code.ErrNotFound if there is none.
	Find(ctx context.Context, candidate code.Repository) (code.Repository, error)
}

// Service authenticates callers, decides which repositories exist for them, and changes
// accounts.
type Service struct {
	o            Options
	digests      digests
	operator     string // keyed hash of the operator's token; empty if there is none
	restrictions restrictions
	visibilities visibilityCache
	rotations    rotations
	throttle     *throttle
	failedNotes  failedNoter
	hasher       *hasher
	activity     activity
	mints        tokenMints
	setup        string // the one-time value
	cookie       string // the name of the session cookie
	metrics      *metrics
}

// NewService returns a Service configured by o.
func NewService(o Options) (*Service, error) {
	o.ensureDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Service{o: o, metrics: newMetrics(o.Registerer)}
	s.digests.key = o.Secret
	s.throttle, s.hasher = newThrottle(s.metrics), newHasher(o.Hashing, s.metrics)
	s.setup, s.cookie = newValue(account.PrefixSetup), o.PublicURL.CookieName(CookieName)
	if o.Operator != "" {
		s.operator = s.digests.hashCredential(o.Operator)
	}
	return s, nil
}

// PeerAddress returns the peer address of the connection of r, without port.
func PeerAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
