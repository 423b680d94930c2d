package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/connections"
	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/indexstatus"
	"github.com/quarrysearch/quarry/query/auth/oidc"
	"github.com/quarrysearch/quarry/query/web"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/indexing"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

// openPages creates the web pages on the API's listener.
func (s *Server) openPages(context.Context) error {
	if s.api == nil {
		return nil
	}
	providers, err := s.newProviders()
	if err != nil {
		return err
	}
	var replicas func() []sharding.Replica
	if s.front != nil {
		replicas = s.front.Replicas
	}
	var work func(code.RepositoryID) (indexing.Status, bool)
	if reader, ok := s.apiOptions.Status.(*indexstatus.Reader); ok { // a front has those of its shards
		work = reader.Work
	}
	s.pages, err = web.New(web.Options{
		Accounts: s.auth, Repositories: s.repositories, Providers: providers, Audit: s.api,
		Secret:    s.masterSecret.DeriveKey("forms of pages"),
		PublicURL: s.publicURL(), Version: s.o.Version,
		Front: s.api.Front(),
		Code:  s.api, Source: s.apiOptions.Source, Outline: analyze.Outline{}, Status: s.apiOptions.Status, Work: work, Search: s.api,
		Contexts: searchContexts(s.o.Config.Query.Contexts), API: s.api, Readiness: s.api.Readiness, Gatherer: s.o.Gatherer,
		PreviewRegistration: s.api.PreviewRegistration, PreviewConnection: s.previewConnections(), Replicas: replicas, Ready: s.checkPagesReady,
		Now: boot.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
	return err
}

// previewConnections returns the function that lists what a connection would find.
func (s *Server) previewConnections() func(context.Context, web.ConnectionPreview) (web.ConnectionFound, error) {
	previewer := connections.NewPreviewer(s.codeHosts, s.o.Config.Discovery.RequestTimeout.Std())
	return func(ctx context.Context, in web.ConnectionPreview) (web.ConnectionFound, error) {
		found, err := previewer.Preview(ctx, connections.Wanted(in))
		out := web.ConnectionFound{Repositories: found.Repositories}
		for _, issue := range found.Issues {
			out.Issues = append(out.Issues, wire.ConnectionIssue(issue))
		}
		return out, err
	}
}

// newProviders returns the single sign-on providers, or nil if there are none. A provider
// is first contacted when a user signs in with it.
func (s *Server) newProviders() (*oidc.Client, error) {
	given := s.o.Config.Access.OIDC
	if len(given) == 0 {
		return nil, nil
	}
	o := oidc.Options{PublicURL: s.publicURL(), Secret: s.masterSecret.DeriveKey("sign-ins with providers"), Now: boot.Now}
	for i := range given {
		p, err := given[i].Provider()
		if err != nil {
			return nil, fmt.Errorf("access.oidc: %s: %w", given[i].Name, err)
		}
		o.Providers = append(o.Providers, p)
	}
	return oidc.New(o)
}

// checkPagesReady returns nil once the accounts are read and the repositories have
// numbers.
func (s *Server) checkPagesReady() error {
	if err := s.checkCallersReady(); err != nil {
		return fmt.Errorf("%w: %w", web.ErrNotReady, err)
	}
	return nil
}

// mountPages divides the paths between pages and API. A path that neither serves gets a
// 404 page or a JSON error, depending on the request.
func (s *Server) mountPages(mux *http.ServeMux) {
	for _, path := range s.pages.Paths() {
		mux.Handle(path, s.pages)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if wantsPage(r) {
			s.pages.ServeHTTP(w, r)
			return
		}
		s.api.ServeHTTP(w, r)
	})
}

// wantsPage reports whether r comes from a browser and is not for a path of the API.
func wantsPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html") &&
		!strings.HasPrefix(r.URL.Path, "/api/") && !strings.HasPrefix(r.URL.Path, "/healthz") && !strings.HasPrefix(r.URL.Path, "/readyz")
}
