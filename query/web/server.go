package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/publicurl"
	"github.com/quarrysearch/quarry/query/source"
)

// Server serves the pages.
type Server struct {
	o         Options
	templates *templates
	texts     *texts
	assets    *assets
	public    publicurl.URL
	mux       *http.ServeMux
	metrics   *metrics
	compressors
}

// New returns a Server configured by o.
func New(o Options) (*Server, error) {
	o.ensureDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Server{o: o, mux: http.NewServeMux(), compressors: newCompressors()}
	var err error
	if s.public, err = publicurl.Parse(o.PublicURL); err != nil {
		return nil, fmt.Errorf("web: PublicURL: %w", err)
	}
	if s.texts, err = readTexts(); err != nil {
		return nil, err
	}
	if s.assets, err = packAssets(); err != nil {
		return nil, err
	}
	if s.templates, err = newTemplates(s.assets, s.texts, s.public, o.Now); err != nil {
		return nil, err
	}
	methods := map[string][]string{}
	for _, rt := range s.routeTable() {
		s.mux.Handle(rt.method+" "+rt.path, o.Front.Page(routeLabel(rt.path), s.handleRoute(rt)))
		methods[rt.path] = append(methods[rt.path], rt.method)
	}
	for path, allowed := range methods {
		refuse := func(w http.ResponseWriter, _ *pageRequest) error {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			return errMethod
		}
		s.mux.Handle(path, o.Front.Page(routeLabel(path), s.handleRoute(route{page: refuse})))
	}
	if o.Code != nil {
		s.mux.Handle(source.AddressPrefix, s.browseHandler())
		if o.API != nil {
			s.mux.Handle("GET "+whyPath, s.whyHandler())
		}
	}
	if o.Search != nil {
		s.mux.Handle(searchPath, s.searchHandler(s.searchPage, searchPath))
		s.mux.Handle("/{$}", s.homeHandler())
		s.mux.Handle(contextsPath, s.searchHandler(s.contextsPage, contextsPath))
		s.mux.Handle(groupsPath, s.searchHandler(s.groupsPage, groupsPath))
	}
	s.mux.Handle("GET "+staticPrefix, o.Front.Page(staticPrefix, s.assets))
	s.mux.Handle("/", o.Front.Page(unknownRoute, s.handleRoute(route{page: func(http.ResponseWriter, *pageRequest) error { return errNoPage }})))
	s.metrics = newMetrics(o.Registerer, o.Providers)
	return s, nil
}

// routeLabel returns the name of a path in metrics and logs.
func routeLabel(path string) string { return strings.TrimSuffix(path, "{$}") }

// unknownRoute is the label of all paths without a page.
const unknownRoute = "unknown"

// ServeHTTP implements http.Handler. Paths without a page get a page that explains that.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Paths returns the patterns, for http.ServeMux, that the server handles.
func (s *Server) Paths() []string {
	paths := []string{staticPrefix}
	if s.o.Code != nil {
		paths = append(paths, source.AddressPrefix)
		if s.o.API != nil {
			paths = append(paths, whyPath)
		}
	}
	if s.o.Search != nil {
		paths = append(paths, searchPath, "/{$}", contextsPath, groupsPath)
	}
	for _, rt := range s.routeTable() {
		if !slices.Contains(paths, rt.path) {
			paths = append(paths, rt.path)
		}
	}
	return paths
}

// route is a page, or the action of a form.
type route struct {
	method, path string
	access       access
	page         pageHandler
}

// access is what a page requires.
type access int

const (
	accessOpen  access = iota // nothing
	accessUser                // a session
	accessOwner               // the session of an owner
)

// pageHandler handles a visit. An error is shown as a separate page.
type pageHandler func(w http.ResponseWriter, v *pageRequest) error

func (s *Server) routeTable() []route {
	routes := []route{
		{http.MethodGet, "/preferences/editor", accessOpen, s.editorPage},
		{http.MethodPost, "/preferences/editor", accessOpen, s.saveEditor},
		{http.MethodGet, setupPath, accessOpen, s.setupPage},
		{http.MethodPost, setupPath, accessOpen, s.setUp},
		{http.MethodGet, "/sign-in", accessOpen, s.signInPage},
		{http.MethodPost, "/sign-in", accessOpen, s.signIn},
		{http.MethodPost, "/sign-out", accessUser, s.signOut},
		{http.MethodGet, "/welcome", accessOpen, s.welcomePage},
		{http.MethodGet, "/~", accessOpen, s.withoutOrganization},
		{http.MethodGet, organizationPrefix + "{path...}", accessOpen, s.withoutOrganization},
		{http.MethodGet, invitePath, accessOpen, s.invitePage},
		{http.MethodPost, invitePath, accessOpen, s.acceptInvitation},
		{http.MethodGet, resetPath, accessOpen, s.resetPage},
		{http.MethodPost, resetPath, accessOpen, s.resetPassword},
		{http.MethodGet, "/preferences", accessOpen, s.preferencesPage},
		{http.MethodPost, "/preferences", accessOpen, s.savePreferences},
		{http.MethodGet, "/settings", accessUser, s.settingsPage},
		{http.MethodGet, "/settings/keys", accessUser, s.keysPage},
		{http.MethodGet, "/settings/keys/new", accessUser, s.newKeyPage},
		{http.MethodPost, "/settings/keys/new", accessUser, s.createKey},
		{http.MethodPost, "/settings/keys/delete", accessUser, s.deleteKey},
		{http.MethodGet, "/saved/{id}", accessUser, s.openSaved},
		{http.MethodGet, savedPath, accessUser, s.savedPage},
		{http.MethodGet, savedPath + "/new", accessUser, s.newSavedPage},
		{http.MethodPost, savedPath + "/new", accessUser, s.createSaved},
		{http.MethodGet, savedPath + "/edit/{id}", accessUser, s.editSavedPage},
		{http.MethodPost, savedPath + "/edit/{id}", accessUser, s.changeSaved},
		{http.MethodPost, savedPath + "/delete", accessUser, s.deleteSaved},
		{http.MethodGet, "/settings/profile", accessUser, s.profilePage},
		{http.MethodPost, "/settings/profile", accessUser, s.renameUser},
		{http.MethodPost, "/settings/profile/password", accessUser, s.changePassword},
		{http.MethodGet, "/settings/sessions", accessUser, s.sessionsPage},
		{http.MethodPost, "/settings/sessions/end", accessUser, s.endSession},
		{http.MethodGet, "/settings/members", accessOwner, s.membersPage},
		{http.MethodPost, "/settings/members", accessOwner, s.changeMember},
		{http.MethodPost, "/settings/members/invite", accessOwner, s.createInvitation},
		{http.MethodPost, "/settings/members/reset", accessOwner, s.createReset},
		{http.MethodPost, "/settings/members/revoke", accessOwner, s.revokeInvitation},
	}
	if s.o.Search == nil {
		routes = append(routes, route{http.MethodGet, "/{$}", accessOpen, s.homePage})
	} else {
		routes = append(routes,
			route{http.MethodGet, "/syntax", accessOpen, s.syntaxPage},
			route{http.MethodGet, "/shortcuts", accessOpen, s.shortcutsPage},
			route{http.MethodGet, "/opensearch.xml", accessOpen, s.openSearch})
	}
	if s.o.API != nil {
		routes = append(routes, s.operationRoutes()...)
	}
	if s.o.Providers != nil {
		routes = append(routes,
			route{http.MethodGet, "/auth/oidc/{provider}", accessOpen, s.departToProvider},
			route{http.MethodGet, "/auth/oidc/{provider}/callback", accessOpen, s.finishFlow},
			route{http.MethodPost, "/settings/profile/connect/{provider}", accessUser, s.connectProvider})
	}
	return routes
}

// settingsPage redirects to the first settings page.
func (s *Server) settingsPage(w http.ResponseWriter, v *pageRequest) error {
	seeOther(w, v, "/settings/keys")
	return nil
}

// organizationPrefix is what the addresses of older releases of the established server
// begin with, where that server has the same pages as here.
const organizationPrefix = "/~/"

// withoutOrganization redirects such an address to the same one without the prefix.
func (s *Server) withoutOrganization(w http.ResponseWriter, v *pageRequest) error {
	rest, _ := strings.CutPrefix(v.r.URL.RequestURI(), organizationPrefix)
	seeOther(w, v, returnPath("/"+strings.TrimPrefix(rest, "/~")))
	return nil
}

// seeOther redirects to one of our pages after a form.
func seeOther(w http.ResponseWriter, v *pageRequest, path string) {
	http.Redirect(w, v.r, path, http.StatusSeeOther)
}

// redirectDone redirects to a page that confirms what was done.
func redirectDone(w http.ResponseWriter, v *pageRequest, path, what string) error {
	if notices[what] == "" {
		return fmt.Errorf("web: no notice %q", what)
	}
	seeOther(w, v, path+"?done="+what)
	return nil
}

// notices are the messages of pages after a redirect, by the parameter done. Other values
// are not shown.
var notices = map[string]string{
	"key-deleted":         "The key is deleted. It no longer works.",
	"search-saved":        "The search is saved.",
	"search-deleted":      "The saved search is deleted.",
	"renamed":             "Your name is changed.",
	"password-reset":      "Your password is changed, and you are signed in. All other sessions have ended.",
	"password":            "Your password is changed. Other sessions have ended.",
	"connected":           "You can now sign in with the provider.",
	"session-ended":       "The session has ended.",
	"sessions-ended":      "All sessions have ended. Sign in again.",
	"signed-out":          "You are signed out.",
	"approved":            "The member may sign in now.",
	"suspended":           "The member is suspended. Sessions and keys have ended.",
	"reinstated":          "The member may sign in again.",
	"role":                "The role is changed.",
	"removed":             "The member is removed.",
	"invitation-ended":    "The invitation is revoked.",
	"set-up":              "You are the owner of this server. Settings has API keys for programs, and Members invites others.",
	"registered":          "The repository is registered. Its first import is starting.",
	"refresh-asked":       "All branches are being compared with the code host.",
	"reindex-asked":       "All branches are being re-indexed.",
	"repo-removed":        "The repository is removed. It may still be listed for a few seconds.",
	"access":              "The decision is saved.",
	"sync-asked":          "The connection is being synced with its code host.",
	"redelivered":         "The delivery is being processed again and is listed as a new one.",
	"deadletter-replayed": "The event was appended to the log again.",
	"deadletter-dropped":  "The dead letter is dropped. The log keeps it.",
	"replay-started":      "The replay has started.",
	"rollback-started":    "The rollback has started.",
	"replay-canceled":     "The replay is canceled.",
	"joined":              "Welcome! Settings has API keys to search from programs.",
}
