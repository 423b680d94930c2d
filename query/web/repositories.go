package web

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/indexing"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// reposPerPage is how many repositories a page lists.
const reposPerPage = 50

// maxFilterBytes bounds the filter of a list.
const maxFilterBytes = 1024

// repositoryList is the data of the page of all repositories.
type repositoryList struct {
	Repositories []listedRepository
	// Pictured says that one of them has a picture: the others have its space.
	Pictured       bool
	Total          int
	Filter         string
	Sorts          []choice
	Next, Previous string // addresses of pages; empty if there are none
}

// listedRepository is a row of the list.
type listedRepository struct {
	wire.Repository
	Picture string // address of its picture; empty if the code host has none
	Failed  bool   // its last update failed
	Empty   bool   // it was fetched and has no commit
	// Importing is how much of its first import is done, such as "76 %"; empty if none runs.
	Importing string
}

// listRepositories returns the rows of the list. Repositories with the same picture, which
// may be that of their owner, have one address of it, so that a browser loads it once.
func listRepositories(found []wire.Repository) []listedRepository {
	rows, loaded := make([]listedRepository, len(found)), map[string]string{}
	for i, r := range found {
		rows[i].Repository = r
		if r.ImageURL == "" {
			continue
		}
		if loaded[r.ImageURL] == "" {
			loaded[r.ImageURL] = picturePath(int64(r.RepoID))
		}
		rows[i].Picture = loaded[r.ImageURL]
	}
	return rows
}

// picturePath is the address of the picture of a repository.
func picturePath(id int64) string { return fmt.Sprintf("/api/repos/%d/image", id) }

func (s *Server) reposPage(w http.ResponseWriter, v *pageRequest) error {
	ctx := v.r.Context()
	asked := v.r.URL.Query()
	params := client.ListRepositoriesParams{Page: pageNumber(asked), PerPage: reposPerPage, Query: cutText(asked.Get("query"), maxFilterBytes)}
	if asked.Get("sort") == "pushed" {
		params.Sort, params.Direction = "pushed", "desc"
	}
	page, err := s.operationsOf(v).ListRepositories(ctx, params)
	if err != nil {
		return operationError(v, err)
	}
	list := &repositoryList{
		Repositories: listRepositories(page.Items), Total: page.Total, Filter: params.Query,
		Sorts: markChosen(asked.Get("sort"), choice{Value: "name", Label: s.texts.mustFormat("repos_sort_name")}, choice{Value: "pushed", Label: s.texts.mustFormat("repos_sort_pushed")}),
	}
	if err := s.addStates(ctx, list.Repositories); err != nil {
		return err
	}
	list.Pictured = slices.ContainsFunc(list.Repositories, func(r listedRepository) bool { return r.Picture != "" })
	list.Previous, list.Next = pageLinks("/repos", asked, params.Page, !page.Last())
	return s.renderPage(w, v, view{template: "repos", title: s.texts.mustFormat("repos"), data: list})
}

// addStates marks the rows whose last update failed, whose first import runs, or that are empty. The rows have the
// numbers of the API and the status has IDs, so that the name, which is unique, joins them.
func (s *Server) addStates(ctx context.Context, rows []listedRepository) error {
	if s.o.Status == nil || s.o.Repositories == nil || len(rows) == 0 {
		return nil
	}
	all, err := s.o.Repositories.Repositories(ctx)
	if err != nil {
		return err
	}
	ids := make(map[string]code.RepositoryID, len(all))
	for _, r := range all {
		ids[r.Name] = r.ID
	}
	for i := range rows {
		id, ok := ids[rows[i].RepoName]
		if !ok {
			continue
		}
		st, err := s.o.Status.Status(ctx, id)
		if err != nil {
			continue // it was removed in the meantime
		}
		rows[i].Failed, rows[i].Empty = st.LastError != nil, st.Empty
		if rows[i].IndexedAt.IsZero() {
			rows[i].Importing = s.importProgress(&st)
		}
	}
	return nil
}

// importProgress returns how much of an import is done, such as "76 %"; empty if that is unknown.
func (s *Server) importProgress(st *indexing.Status) string {
	if p := st.Progress; p != nil && p.FilesTotal > 0 {
		return s.texts.mustFormat("state_percent", "percent", 100*p.Files/p.FilesTotal)
	}
	return ""
}

// pageNumber reads the parameter page; an invalid number selects the first page.
func pageNumber(asked url.Values) int {
	n, err := strconv.Atoi(asked.Get("page"))
	if err != nil || n < 1 || n > 1<<20 {
		return 1
	}
	return n
}

// pageLinks returns the addresses of the previous and the next page, empty if there is
// none. They keep the other parameters.
func pageLinks(path string, asked url.Values, number int, more bool) (previous, next string) {
	link := func(n int) string {
		kept := maps.Clone(asked)
		kept.Del("done")
		kept.Set("page", strconv.Itoa(n))
		return path + "?" + kept.Encode()
	}
	if number > 1 {
		previous = link(number - 1)
	}
	if more {
		next = link(number + 1)
	}
	return previous, next
}

// newRepoPage shows the form for registering a repository.
func (s *Server) newRepoPage(w http.ResponseWriter, v *pageRequest) error {
	return s.showNewRepo(w, v, form{}, 0)
}

// registrationCheck is what a registration would do. Refusal is the reason why it would fail.
type registrationCheck struct{ Name, Refs, Refusal string }

func (s *Server) showNewRepo(w http.ResponseWriter, v *pageRequest, f form, status int) error {
	return s.showRegistration(w, v, f, registrationCheck{}, status)
}

func (s *Server) showRegistration(w http.ResponseWriter, v *pageRequest, f form, check registrationCheck, status int) error {
	field := func(name, kind string, required bool) input {
		return f.newInput(input{Name: name, Type: kind, Label: s.texts.mustFormat("newrepo_" + name), Hint: s.texts.mustFormat("newrepo_" + name + "_hint"), Required: required, Complete: "off", Max: code.MaxURLBytes})
	}
	fields := []input{field("address", "text", true), field("name", "text", false), field("branches", "text", false), field("tags", "text", false)}
	return s.renderPage(w, v, view{template: "newrepo", title: s.texts.mustFormat("newrepo"), status: status, form: f, data: struct {
		Fields   []input
		CanCheck bool
		Check    registrationCheck
	}{fields, s.o.PreviewRegistration != nil, check}})
}

// checkRepo shows what the registration of the repository in the form would do.
func (s *Server) checkRepo(w http.ResponseWriter, v *pageRequest, f form, body *wire.RegisterRequest) error {
	checked := "" // nothing if the address is none
	if clone, err := code.ParseCloneURL(body.CloneURL + body.Path); err == nil {
		checked = clone.Name()
	}
	if err := s.recordRead(w, v, audit.CheckedRegistration, http.StatusOK, "repository", checked); err != nil {
		return err
	}
	name, selection, refusal := s.o.PreviewRegistration(v.r.Context(), body)
	check := registrationCheck{Name: name, Refs: selection.Message, Refusal: toSentence(refusal.Message)}
	return s.showRegistration(w, v, f, check, 0)
}

// registerRepo registers the repository in the form.
func (s *Server) registerRepo(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	body := wire.RegisterRequest{Name: f.Get("name"), Branches: strings.Fields(f.Get("branches")), Tags: strings.Fields(f.Get("tags"))}
	if address := f.Get("address"); strings.HasPrefix(address, "/") {
		body.Path = address
	} else {
		body.CloneURL = address
	}
	if f.Get("do") == "check" && s.o.PreviewRegistration != nil {
		return s.checkRepo(w, v, f, &body)
	}
	ctx := v.r.Context()
	accepted, err := s.operationsOf(v).RegisterRepository(ctx, body)
	if err != nil {
		return s.showRefusal(w, v, f, err, s.showNewRepo)
	}
	return redirectDone(w, v, s.awaitRegistered(ctx, v, int64(accepted.RepoID)), "registered")
}

// registeredWait bounds the wait until a registered repository is listed.
const registeredWait = 3 * time.Second

// awaitRegistered returns the page of a newly registered repository once it is listed, or
// the page of all repositories if that takes too long.
func (s *Server) awaitRegistered(ctx context.Context, v *pageRequest, id int64) string {
	ctx, cancel := context.WithTimeout(ctx, registeredWait)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		if _, err := s.operationsOf(v).GetRepositoryStatus(ctx, id); err == nil {
			return repoPath(id)
		}
		select {
		case <-ctx.Done():
			return "/repos"
		case <-poll.C:
		}
	}
}

// repoPath returns the address of the page of a repository.
func repoPath(id int64) string { return "/repos/" + strconv.FormatInt(id, 10) }
