package front

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// maxStreams bounds the streams at once, whose readers may be slow.
const maxStreams = 256

// maxFollowers bounds the streams of events at once: one for each page that is looked at.
const maxFollowers = 1024

// Authenticator authenticates callers; auth.Service is one.
type Authenticator interface {
	// Authenticate returns the sender of r. The error wraps auth.ErrUnauthenticated
	// if a credential is invalid, or is missing where anonymous requests are not
	// allowed; it wraps auth.ErrNotReady until the accounts have been read.
	Authenticate(r *http.Request) (*auth.Principal, error)
}

// Auditor records what was done. Its errors are answered by Options.ErrorAnswer.
type Auditor interface {
	// Note takes a record of something read, which is written shortly. Where too
	// many wait already it waits for a bounded time; an error then says that the record
	// is not taken and that the answer must not be given. It is called before the
	// answer goes out where that is possible.
	Note(ctx context.Context, rec audit.Record) error
	// Record returns once the record is durable, or after a bounded time with an
	// error: then the action must not be done, or if it was, not be reported as
	// done.
	Record(ctx context.Context, rec audit.Record) error
}

// Answer is a response before it is written.
type Answer interface {
	Status() int
	// Write sends the response. An error means that the client has gone or that the
	// response cannot be completed.
	Write(w http.ResponseWriter) error
	// Release is called once, after Write.
	Release()
}

// Options configure a Front. Authenticator, Audit and ErrorAnswer are required.
type Options struct {
	Authenticator Authenticator
	Audit         Auditor
	// ErrorAnswer returns the response to a request that failed with err.
	ErrorAnswer func(err error, requestID string) Answer
	// Accounts rotates sessions; nil in a process without.
	Accounts *auth.Service
	// Writable says why nothing may be changed now; nil is always writable. What is read
	// is not affected.
	Writable func() error
	// Removable is Writable for requests that free space; nil is Writable.
	Removable func() error

	// PublicURL is the base of links; its origin is trusted.
	PublicURL string
	// Hosts are host names that the server accepts, in addition to IP addresses and
	// names without a dot; nil accepts any name.
	Hosts []string
	// Probes are paths that accept any host name.
	Probes []string
	// AllowedOrigins are the origins whose pages may send requests, such as
	// https://tools.example; "*" is any, without cookies.
	AllowedOrigins []string
	// SignInPaths are paths whose requests may begin a session: pages of other
	// origins never reach them unless their origin is named.
	SignInPaths []string

	Limits Limits
	// MaxBodyBytes bounds a body. ReadTimeout bounds its arrival, HandlerTimeout what
	// the handler does, WriteTimeout the departure of the response.
	MaxBodyBytes                              int64
	ReadTimeout, HandlerTimeout, WriteTimeout time.Duration

	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (o *Options) ensureDefaults() {
	o.Limits.ensureDefaults()
	if o.Removable == nil {
		o.Removable = o.Writable
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

func (o *Options) validate() error {
	switch {
	case o.Authenticator == nil || o.Audit == nil || o.ErrorAnswer == nil:
		return errors.New("front: Authenticator, Audit and ErrorAnswer are required")
	case o.MaxBodyBytes <= 0 || o.ReadTimeout <= 0 || o.HandlerTimeout <= 0 || o.WriteTimeout <= 0:
		return errors.New("front: MaxBodyBytes and the timeouts must be positive")
	}
	if u, err := url.Parse(o.PublicURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("front: public URL %.80q: want http(s)://host", o.PublicURL)
	}
	return nil
}
