package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/quarrysearch/quarry/query/api/internal/contract"
	"github.com/quarrysearch/quarry/query/api/internal/pace"
	"github.com/quarrysearch/quarry/query/mcp"
	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi"
)

// Server serves the API.
type Server struct {
	o         Options
	navigator *navigate.Navigator
	openapi   descriptions
	contract  *contract.Contract
	metrics   *metrics
	handler   http.Handler
	listings  listings
	origins   *http.CrossOriginProtection
	hosts     map[string]bool // nil: any
	secure    bool            // the public URL is https
	pace      *pace.Table
	refusals  *refusalThrottle
	streams   *pace.Streams
	// limits and connectionKinds begin as the options have them; see Reconfigure.
	limits          atomic.Pointer[Limits]
	connectionKinds atomic.Pointer[map[string]code.HostKind]
	mcp             *mcp.Server
}

// New returns a Server of what o holds.
func New(o Options) (*Server, error) {
	o.ensureDefaults()
	if err := o.validate(); err != nil {
		return nil, err
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
		navigator: navigate.New(o.Searcher),
		contract:  checks,
		hosts:     hostSet(o.Hosts),
		secure:    strings.HasPrefix(o.PublicURL, "https://"),
		pace:      pace.New(maxCallers),
		refusals:  newRefusalThrottle(),
		streams:   pace.NewStreams(maxStreams, max(o.Limits.Streams, 0)),
	}
	s.limits.Store(&s.o.Limits)
	s.connectionKinds.Store(&s.o.Connections)
	if s.openapi, err = newDescriptions(document, o.PublicURL, o.Version); err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	s.metrics = newMetrics(o.Registerer, s)
	if s.mcp, err = s.newMCP(); err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	for _, rt := range s.routeTable() {
		if err := rt.checkDefinition(); err != nil {
			return nil, err
		}
	}
	if err := s.configureOrigins(); err != nil {
		return nil, err
	}
	s.handler = s.withMiddleware(s.newRouter())
	return s, nil
}

// ServeHTTP implements http.Handler. Every path that is not of the API gets a
// 404 with an error object.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Paths returns the patterns, for http.ServeMux, below which the server answers.
func (s *Server) Paths() []string { return []string{"/api/", "/healthz", "/readyz"} }

// publicOrigin returns the scheme and host of the public URL.
func (s *Server) publicOrigin() string {
	u, err := url.Parse(s.o.PublicURL)
	if err != nil {
		panic("api: the public URL was checked: " + err.Error())
	}
	return u.Scheme + "://" + u.Host
}
