package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/indexing"
)

// homeHandler returns the handler of the home page. It looks up examples as the visitor;
// a visitor who may not search gets the page without them.
func (s *Server) homeHandler() http.Handler {
	plain := s.handleRoute(route{method: http.MethodGet, path: "/", page: s.homePage})
	page := s.getOnly(func(w http.ResponseWriter, v *pageRequest) error { return s.showHome(w, v, s.readHome(v)) })
	return s.o.Front.SearchPage("/", page, func(w http.ResponseWriter, r *http.Request, err error) {
		if errors.Is(err, auth.ErrUnauthenticated) || errors.Is(err, auth.ErrForbidden) {
			plain.ServeHTTP(w, r)
			return
		}
		s.refuseCode(w, r, err)
	})
}

// homeData is the data of the home page. Without CanSearch, it offers the sign-in.
type homeData struct {
	URL          string
	CanSearch    bool
	Examples     []facetLink
	WantExamples bool                   // none are shown yet: the next look at what changed includes them
	Saved        []*account.SavedSearch // a few of those that the visitor may open
	Contexts     []facetLink            // a few search contexts
	Repositories []homeRepository
	Total        int          // of the repositories that are indexed
	Importing    []homeImport // a few of those that are not
	Unindexed    int          // all of those, as far as they are looked up
	State        string       // empty if the repositories were not listed
	Steps        []homeStep   // of an empty server
}

// homeStep is a step from a new server to its first search.
type homeStep struct {
	Title, Text string
	Done        bool
	Command     string
	URL, Label  string // what the visitor can do on these pages
}

type homeRepository struct{ Name, URL, Age string }

// homeImport is a repository whose first import is not done.
type homeImport struct {
	Name, URL string
	Class     string // of the color of State
	State     string // such as "14 %"
}

// homePage shows the home page to a visitor who may not search.
func (s *Server) homePage(w http.ResponseWriter, v *pageRequest) error {
	return s.showHome(w, v, &homeData{})
}

func (s *Server) showHome(w http.ResponseWriter, v *pageRequest, d *homeData) error {
	d.URL, d.Steps = s.o.PublicURL, s.firstSteps(v, d)
	if v.r.URL.Query().Has("fragment") {
		return s.renderPart(w, "home", "changes", s.newFrame(v, &view{template: "home", data: d}))
	}
	return s.renderPage(w, v, view{template: "home", title: s.texts.mustFormat("homeTitle"), isHome: true, data: d})
}

// firstSteps returns what leads from a new server to the first search, or nil if there is
// something to search, or if it is unknown whether there is. They name no path of the server.
func (s *Server) firstSteps(v *pageRequest, d *homeData) []homeStep {
	owned := s.o.Accounts.SetupValue() == ""
	if d.Total > 0 || owned && d.State == "" {
		return nil
	}
	step := func(name string) homeStep {
		return homeStep{Title: s.texts.mustFormat("homeStep_" + name), Text: s.texts.mustFormat("homeStep_" + name + "_text")}
	}
	owner, add, ask := step("owner"), step("add"), step("search")
	owner.Done, owner.Command, add.Command = owned, "cat quarry-data/setup.link", "quarry index PATH-OR-URL"
	if d.Unindexed > 0 {
		add.Text, add.Command = s.texts.mustFormat("homeImporting", "n", d.Unindexed), ""
	} else if v.isOwner() && s.o.API != nil {
		add.URL, add.Label = "/admin/register", s.texts.mustFormat("newrepo")
	}
	return []homeStep{owner, add, ask}
}

// Bounds of the lookups of the home page.
const (
	homeRepositories = 8
	homeLinks        = 6    // saved searches, and search contexts
	maxHomeWork      = 1000 // repositories without an index whose work is looked up
	homeTimeout      = 400 * time.Millisecond
)

// readHome looks up the most recently changed repositories, saved searches, search contexts,
// and examples that have results. It omits what takes too long.
func (s *Server) readHome(v *pageRequest) *homeData {
	ctx := v.r.Context()
	d := &homeData{CanSearch: true}
	if v.user != nil {
		saved, _ := s.o.Accounts.SavedSearches(v.principal) // a restricted session has none
		d.Saved = saved[:min(len(saved), homeLinks)]
	}
	repositories, err := s.o.Search.SearchableRepositories(ctx)
	if err != nil {
		s.o.Logger.WarnContext(ctx, "repositories not listed", "error", err)
		return d
	}
	indexed := make([]*corpus.Repository, 0, len(repositories))
	var others []*corpus.Repository
	for _, r := range repositories {
		if r.IndexedAt.IsZero() {
			others = append(others, r)
		} else {
			indexed = append(indexed, r)
		}
	}
	s.readImports(ctx, others, d)
	d.Total = len(indexed)
	for _, r := range newestRepositories(indexed, homeRepositories) {
		row := homeRepository{Name: displayName(r), URL: repositoryURL(r.Name)}
		if !r.PushedAt.IsZero() {
			row.Age = s.texts.formatSpan(s.o.Now().Sub(r.PushedAt))
		}
		d.Repositories = append(d.Repositories, row)
	}
	for _, name := range s.listContexts(v.principal, repositories, "", homeLinks) {
		d.Contexts = append(d.Contexts, contextLink(name))
	}
	d.State = s.texts.mustFormat("homeState", "n", d.Total)
	// A page that is open asks for what changed, every few seconds: it has its examples by then.
	if asked := v.r.URL.Query(); !asked.Has("fragment") || asked.Has("examples") {
		if d.Total > 0 {
			d.Examples = s.findExamples(ctx)
		}
		d.WantExamples = len(d.Examples) == 0
	}
	return d
}

// readImports adds the repositories whose first import is expected: those that are being imported
// come first, then those whose import failed. An empty repository is not waited for.
func (s *Server) readImports(ctx context.Context, unindexed []*corpus.Repository, d *homeData) {
	read, most := s.o.Work, maxHomeWork
	if read == nil {
		read, most = func(id code.RepositoryID) (indexing.Status, bool) {
			if s.o.Status == nil {
				return indexing.Status{State: indexing.Registered}, true
			}
			st, err := s.o.Status.Status(ctx, id)
			return st, err == nil // it was removed in the meantime
		}, homeRepositories // a status may read thousands of records of the log
	}
	var running, failed, waiting []homeImport
	for _, r := range unindexed[:min(len(unindexed), most)] {
		st, ok := read(r.ID)
		if !ok || st.Empty || st.State == indexing.Indexed {
			continue
		}
		d.Unindexed++
		row := homeImport{Name: displayName(r), URL: "/repos?" + url.Values{"query": {r.Name}}.Encode(), Class: "wait"}
		switch {
		case st.Progress != nil:
			row.State = cmp.Or(s.importProgress(&st), s.texts.mustFormat("state_importing"))
			running = append(running, row)
		case st.LastError != nil:
			row.Class, row.State = "bad", s.texts.mustFormat("state_failed")
			failed = append(failed, row)
		default:
			row.State = s.texts.mustFormat("state_waiting")
			waiting = append(waiting, row)
		}
	}
	d.Unindexed += max(len(unindexed)-most, 0)
	d.Importing = slices.Concat(running, failed, waiting)
	d.Importing = d.Importing[:min(len(d.Importing), homeRepositories)]
}

// newestRepositories returns the repositories with the newest commits.
func newestRepositories(all []*corpus.Repository, n int) []*corpus.Repository {
	newest := make([]*corpus.Repository, 0, n+1)
	for _, r := range all {
		i := len(newest)
		for i > 0 && newest[i-1].PushedAt.Before(r.PushedAt) {
			i--
		}
		if i == n {
			continue
		}
		newest = append(newest[:i], append([]*corpus.Repository{r}, newest[i:]...)...)
		newest = newest[:min(len(newest), n)]
	}
	return newest
}

// findExamples returns queries of several kinds that find something: their filters come
// from a search for files.
func (s *Server) findExamples(ctx context.Context) (examples []facetLink) {
	ctx, cancel := context.WithTimeout(ctx, homeTimeout)
	defer cancel()
	q, err := syntax.Parse("type:file /", syntax.Options{})
	if err != nil {
		return nil
	}
	filters := map[search.FacetName]search.FacetValue{}
	err = s.o.Search.RunSearch(ctx, search.Request{Query: q, Matches: 5000, Display: 1, Facets: true, WithoutAdvice: true},
		func([]search.FileMatch, search.Stats) error { return nil },
		func(r *search.Result, _ string) error {
			for _, f := range r.Facets {
				filters[f.Name] = f.Values[0]
			}
			return nil
		})
	if err != nil {
		s.o.Logger.DebugContext(ctx, "no examples for the first page", "error", err)
		return nil
	}
	add := func(name search.FacetName, before, after string) {
		if f, ok := filters[name]; ok {
			query := before + f.Filter + after
			examples = append(examples, facetLink{query, plainParams().URL(query)})
		}
	}
	add(search.FacetLanguage, "TODO ", "")
	add(search.FacetLanguage, "type:symbol New ", "")
	add(search.FacetRepository, "type:file readme ", "")
	add(search.FacetExtension, "error ", " -is:test")
	return examples
}
