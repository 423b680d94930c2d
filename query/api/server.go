package api

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/quarrysearch/quarry/query/api/internal/contract"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/live"
	"github.com/quarrysearch/quarry/query/mcp"
	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/query/publicurl"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi"
)

// Server serves the API.
type Server struct {
	o         Options
	public    publicurl.URL
	navigator *navigate.Navigator
	openapi   func() (descriptions, error) // created at the first request
	contract  *contract.Contract
	metrics   *metrics
	handler   http.Handler
	listings  listings
	front     *front.Front
	// connectionKinds is initialized from the options; see Reconfigure.
	connectionKinds atomic.Pointer[map[string]code.HostKind]
	mcp             *mcp.Server
	// positionCipher is nil without Options.PositionSecret.
	positionCipher *live.PositionCipher
}

// New returns a Server configured by o.
func New(o Options) (*Server, error) {
	o.ensureDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	public, err := publicurl.Parse(o.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("api: PublicURL: %w", err)
	}
	document, err := openapi.Load()
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	checks, err := contract.Compile(document)
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	s := &Server{
		o:         o,
		public:    public,
		navigator: navigate.New(o.Searcher, o.Outline).WithPrecise(o.Precise),
		contract:  checks,
	}
	if o.PositionSecret != nil {
		c, err := live.NewPositionCipher(o.PositionSecret, positionPurpose)
		if err != nil {
			return nil, fmt.Errorf("api: PositionSecret: %w", err)
		}
		s.positionCipher = &c
	}
	s.connectionKinds.Store(&s.o.Connections)
	s.openapi = sync.OnceValues(func() (descriptions, error) { return newDescriptions(document, public, o.Version) })
	s.metrics = newMetrics(o.Registerer)
	if o.Deliveries != nil && o.Connectivity != nil {
		o.Registerer.MustRegister(hookHealth{s})
	}
	if s.mcp, err = s.newMCP(); err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	for _, rt := range s.routeTable() {
		if err := rt.checkDefinition(); err != nil {
			return nil, err
		}
	}
	if s.front, err = s.newFront(); err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	s.handler = s.front.WithChecks(s.newRouter())
	return s, nil
}

// ServeHTTP implements http.Handler. Every path outside the API gets a 404 with an error
// object.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Front returns the layers for other pages and streams of this process.
func (s *Server) Front() *front.Front { return s.front }

// newFront returns the front of the API's listener.
func (s *Server) newFront() (*front.Front, error) {
	var signIns []string
	for _, rt := range s.routeTable() {
		if rt.BeginsSession() {
			signIns = append(signIns, rt.Path)
		}
	}
	return front.New(front.Options{
		Authenticator: s.o.Gate, Audit: s.o.Audit, Accounts: s.o.Accounts,
		ErrorAnswer: func(err error, requestID string) front.Answer { return errorReply(err, requestID) },
		Writable:    s.o.Writable, Removable: s.o.Removable,
		PublicURL: s.o.PublicURL, Hosts: s.o.Hosts, Probes: probes,
		AllowedOrigins: s.o.AllowedOrigins, SignInPaths: signIns,
		Limits: s.o.Limits, LogsRequests: s.o.LogsRequests, MaxBodyBytes: s.o.MaxBodyBytes,
		ReadTimeout: s.o.ReadTimeout, HandlerTimeout: s.o.SearchTimeout, WriteTimeout: s.o.WriteTimeout,
		Now: s.o.Now, Tracer: s.o.Tracer, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
}

// probes are the paths of monitoring probes, which accept any host name.
var probes = []string{"/healthz", "/readyz", "/api/health"}

// Reconfigure replaces Options.Limits, LogsRequests and Connections for future requests.
func (s *Server) Reconfigure(l front.Limits, logsRequests bool, connections map[string]code.HostKind) {
	s.front.Reconfigure(l, logsRequests)
	s.connectionKinds.Store(&connections)
}

// Repository returns the repository with that full name if it exists for the context's
// principal. The error wraps code.ErrNotFound.
func (s *Server) Repository(ctx context.Context, name string) (*code.Repository, error) {
	return s.visibleRepository(ctx, name)
}

// Note writes an audit record as the API does. On an error, the caller must not show the
// recorded data.
func (s *Server) Note(ctx context.Context, rec audit.Record) error { return s.o.Audit.Note(ctx, rec) }

// callerVisibility returns which repositories exist for the caller in the context.
func (s *Server) callerVisibility(ctx context.Context) auth.Visible {
	return s.o.Gate.Visible(auth.From(ctx))
}
