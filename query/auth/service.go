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

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Defaults and bounds of Options.
const (
	// MinSecretBytes is the least that Options.Secret may hold.
	MinSecretBytes = 32
	// DefaultSessionTTL is how long a sign-in lasts, however often it rotates.
	DefaultSessionTTL = 30 * 24 * time.Hour
	// DefaultRotateAfter is the age at which a session gets a new value.
	DefaultRotateAfter = 24 * time.Hour
	// DefaultInvitationTTL is how long an invitation waits, MaxInvitationTTL how
	// long it may be made to.
	DefaultInvitationTTL = 7 * 24 * time.Hour
	MaxInvitationTTL     = 90 * 24 * time.Hour
	// changeTimeout bounds the time from an event's append until the directory has
	// it; then the caller gets ErrUnavailable, and the event may still take effect.
	changeTimeout = 10 * time.Second
)

// Options configure a Service. Directory, Appender and Secret are required.
type Options struct {
	Directory Directory
	Appender  Appender
	// Recorder writes failed sign-ins down; nil does not.
	Recorder Recorder
	// Secret keys the hashes of credentials: at least MinSecretBytes, the same in
	// every query process. Another one ends every credential.
	Secret []byte
	// Operator is the value of the operator's token; empty: there is none.
	Operator string
	// Anonymous lets requests without a credential read public repositories.
	Anonymous bool
	// DefaultVisibility applies to repositories for which neither an owner nor the
	// code host has set a visibility; public unless set.
	DefaultVisibility account.Visibility
	// HostRules returns how the permissions of the code hosts count, by the name of the
	// connection: the same map until the settings change. Nil: they do not.
	HostRules func() map[string]HostRule
	// AdmitAll makes people active who come by single sign-on without an
	// invitation; without it they wait for an owner's approval.
	AdmitAll bool
	// LinkByEmail lets an identity with a verified e-mail address sign in as the
	// user with that address. It trusts the provider with every account.
	LinkByEmail bool
	// SecureCookies is set where people come by https only.
	SecureCookies bool

	SessionTTL    time.Duration
	RotateAfter   time.Duration
	InvitationTTL time.Duration
	// Hashing bounds what passwords cost.
	Hashing Hashing

	// Ready returns why the Directory has not caught up with the log as of the
	// start; nil is always ready. Until then only the operator is admitted, and no
	// caller is rejected: a key may have been deleted meanwhile, or created. It is
	// called for every request.
	Ready func() error
	// Address returns the client address of a request, without port; the peer's
	// unless set. Set it behind proxies that send the client address in a header.
	Address func(r *http.Request) string
	// Catalog knows the registered repositories. Without it no credential can be
	// restricted to some.
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
		return errors.New("auth: times may not be negative, nor invitations wait for more than 90 days")
	}
	return o.Hashing.validate()
}

// Catalog finds repositories; api.Catalog is one.
type Catalog interface {
	// Find returns the registered repository with the ID of candidate. The error
	// wraps code.ErrNotFound if there is none.
	Find(ctx context.Context, candidate code.Repository) (code.Repository, error)
}

// Service authenticates callers, says what exists for them, and changes accounts.
type Service struct {
	o            Options
	digests      digests
	operator     string // keyed hash of the operator's token, empty if there is none
	restrictions restrictions
	visibilities visibilityCache
	rotations    rotations
	throttle     *throttle
	failedNotes  failedNoter
	hasher       *hasher
	activity     activity
	mints        tokenMints
	setup        string // the one-time value
	metrics      *metrics
}

// NewService returns a Service of what o holds.
func NewService(o Options) (*Service, error) {
	o.ensureDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Service{o: o, metrics: newMetrics(o.Registerer)}
	s.digests.key = o.Secret
	s.throttle, s.hasher = newThrottle(s.metrics), newHasher(o.Hashing, s.metrics)
	s.setup = newValue(account.PrefixSetup)
	if o.Operator != "" {
		s.operator = s.digests.hashCredential(o.Operator)
	}
	return s, nil
}

// PeerAddress returns the address of the connection of r, without port.
func PeerAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
