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
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// maxStreams bounds concurrent streams, whose readers may be slow.
const maxStreams = 256

// maxFollowers bounds concurrent streams of events: each open page holds one.
const maxFollowers = 1024

// Authenticator authenticates callers; auth.Service is one.
type Authenticator interface {
	// Authenticate returns the sender of r. The error wraps auth.ErrUnauthenticated if a
	// credential is invalid, or is missing where anonymous requests are not allowed. It
	// wraps auth.ErrNotReady until the accounts have been loaded.
	Authenticate(r *http.Request) (*auth.Principal, error)
}

// Auditor records requests. Options.ErrorAnswer renders its errors.
type Auditor interface {
	// Note queues the record of a read, which is written shortly. If the queue is full,
	// it waits for a bounded time; an error means that the record was not queued and that
	// the response must not be sent. It is called before the response is sent if
	// possible.
	Note(ctx context.Context, rec audit.Record) error
	// Record returns once the record is durable, or with an error after a bounded time.
	// On an error, the action must not be done or, if it was, must not be reported as
	// done.
	Record(ctx context.Context, rec audit.Record) error
}

// Answer is a response before it is written.
type Answer interface {
	Status() int
	// Write sends the response. An error means that the client disconnected or that the
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
	// Accounts rotates sessions; nil in a process without accounts.
	Accounts *auth.Service
	// Writable returns an error with the reason if changes are not possible now. Reads
	// are not affected. Nil means always writable.
	Writable func() error
	// Removable is Writable for requests that free space; nil means Writable.
	Removable func() error

	// PublicURL is the base of links. Its origin is trusted.
	PublicURL string
	// Hosts are host names that the server accepts, in addition to IP addresses and
	// names without a dot; nil accepts any name.
	Hosts []string
	// Probes are paths that accept any host name.
	Probes []string
	// AllowedOrigins are the origins whose pages may send requests, such as
	// https://tools.example; "*" is any, without cookies.
	AllowedOrigins []string
	// SignInPaths are paths whose requests may begin a session: pages of other origins
	// reach them only if their origin is listed explicitly.
	SignInPaths []string

	Limits Limits
	// LogsRequests logs each request at info level, except successful ones to Probes.
	LogsRequests bool
	// MaxBodyBytes bounds a body. ReadTimeout bounds reading it, HandlerTimeout the
	// handler, and WriteTimeout writing the response.
	MaxBodyBytes                              int64
	ReadTimeout, HandlerTimeout, WriteTimeout time.Duration

	Now        func() time.Time
	Tracer     *tracing.Tracer // nil traces nothing
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
