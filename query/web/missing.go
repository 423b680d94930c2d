package web

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/spelling"
)

// Bounds of the suggestions on a page for a missing address. Suggestions that take longer
// are omitted.
const (
	maxSuggestions = 8
	missingTimeout = 2 * time.Second
)

// missingBody is the page for an address with nothing to show. It is the same for an
// unknown repository and for one that the visitor may not read.
type missingBody struct {
	Text        string
	Query       string // the initial content of the search box
	Suggestions []crumb
	Deleted     *deletedFile
	Root        string
	Repository  string
}

// deletedFile is a file that an earlier commit contained.
type deletedFile struct {
	Commit        commitRow // the commit that removed it
	Before        string    // the address of the file before that
	Renamed       string    // its current path; empty if it was deleted
	RenamedURL    string
	HistoryOfPath string
}

// showMissing responds with the 404 page of pages about code.
func (s *Server) showMissing(w http.ResponseWriter, v *pageRequest, p *codePage, cause error) {
	f := s.explainError(w, v, cause)
	ctx, cancel := context.WithTimeout(v.r.Context(), missingTimeout)
	defer cancel()
	body := &missingBody{Text: f.text}
	switch {
	case p.repository == nil:
		body.Query = path.Base(p.Repository)
		s.suggestRepositories(ctx, p, body)
	case errors.Is(cause, errNoRevision):
		s.suggestRevisions(ctx, p, body)
	default:
		body.Query = path.Base(p.Path)
		s.suggestPaths(ctx, p, body)
		body.Deleted = s.findDeleted(ctx, p)
	}
	if p.repository != nil {
		body.Repository, body.Root = p.repository.Name, source.Address{Repository: p.Repository, Kind: source.PageTree}.String()
	}
	page := view{template: "missing", title: s.texts.mustFormat("codeMissing"), status: f.status, data: body}
	if err := s.renderPage(w, v, page); err != nil {
		s.o.Logger.ErrorContext(ctx, "error page could not be rendered", "error", err)
		http.Error(w, "unexpected error", http.StatusInternalServerError)
	}
}

// suggestRepositories suggests repositories with a similar name that the visitor may
// read.
func (s *Server) suggestRepositories(ctx context.Context, p *codePage, body *missingBody) {
	names, err := s.o.Code.RepositoryNames(ctx)
	if err != nil || p.Repository == "" || len(p.Repository) > code.MaxNameBytes {
		return
	}
	for _, name := range spelling.Nearest(p.Repository, names, maxSuggestions) {
		body.Suggestions = append(body.Suggestions, crumb{name, source.Address{Repository: name, Kind: source.PageTree}.String()})
	}
}

// suggestRevisions suggests branches and tags with a similar name.
func (s *Server) suggestRevisions(ctx context.Context, p *codePage, body *missingBody) {
	refs, err := s.o.Source.IndexedRefs(ctx, p.repository)
	if err != nil {
		return
	}
	names := func(yield func(string) bool) {
		for _, r := range refs {
			if !yield(r.Ref.Short()) {
				return
			}
		}
	}
	kind, at := p.Kind, p.Path
	if kind == source.PageCommit || kind == source.PageCompare {
		kind, at = source.PageTree, ""
	}
	for _, name := range spelling.Nearest(p.Revision, names, maxSuggestions) {
		body.Suggestions = append(body.Suggestions, crumb{name, source.Address{Repository: p.Repository, Revision: name, Kind: kind, Path: at}.String()})
	}
}

// suggestPaths suggests the nearest existing directory, files in it with a similar name,
// and files of the same name elsewhere.
func (s *Server) suggestPaths(ctx context.Context, p *codePage, body *missingBody) {
	directory, entries := s.nearestDirectory(ctx, p)
	if files, err := s.o.Source.Files(ctx, p.repository, p.commit()); err == nil {
		base := "/" + path.Base(p.Path)
		for _, f := range files {
			if strings.HasSuffix("/"+f, base) && len(body.Suggestions) < maxSuggestions {
				body.Suggestions = append(body.Suggestions, crumb{f, p.pageURL(source.PageBlob, f)})
			}
		}
	}
	wanted := strings.TrimPrefix(strings.TrimPrefix(p.Path, directory), "/")
	wanted, _, _ = strings.Cut(wanted, "/")
	for _, name := range spelling.Nearest(wanted, entryNames(entries), maxSuggestions-len(body.Suggestions)) {
		at := strings.TrimPrefix(directory+"/"+name, "/")
		if link := (crumb{at, p.pageURL(source.PageTree, at)}); !hasCrumb(body.Suggestions, at) {
			body.Suggestions = append(body.Suggestions, link)
		}
	}
	if directory != "" {
		body.Suggestions = append(body.Suggestions, crumb{directory + "/", p.pageURL(source.PageTree, directory)})
	}
}

func hasCrumb(crumbs []crumb, name string) bool {
	for _, c := range crumbs {
		if c.Name == name {
			return true
		}
	}
	return false
}

func entryNames(entries []source.Entry) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range entries {
			if !yield(e.Name) {
				return
			}
		}
	}
}

// maxAncestors bounds the parent directories that are checked.
const maxAncestors = 32

// nearestDirectory returns the nearest existing directory above a path.
func (s *Server) nearestDirectory(ctx context.Context, p *codePage) (string, []source.Entry) {
	directory := p.Path
	for range maxAncestors {
		directory = strings.TrimSuffix(path.Dir("/" + directory)[1:], "/")
		entries, err := s.o.Source.Folder(ctx, p.repository, p.commit(), directory)
		if err == nil {
			return directory, entries
		}
		if directory == "" || !errors.Is(err, source.ErrNoPath) {
			break
		}
	}
	return "", nil
}

// findDeleted returns the last commit that changed a path that no longer exists.
func (s *Server) findDeleted(ctx context.Context, p *codePage) *deletedFile {
	if code.ValidatePath(p.Path) != nil {
		return nil
	}
	request := source.CommitsRequest{Revision: p.commit()}
	request.Path, request.Limit = p.Path, 1
	commits, _, err := s.o.Source.Commits(ctx, p.repository, request)
	if err != nil || len(commits) == 0 || len(commits[0].Parents) == 0 {
		return nil
	}
	c := commits[0]
	out := &deletedFile{Commit: p.newCommitRow(c, s.texts, s.o.Now()), HistoryOfPath: p.pageURL(source.PageCommits, p.Path)}
	kind := source.PageBlob
	if p.Kind == source.PageTree {
		kind = source.PageTree
	}
	out.Before = p.commitURL(c.Parents[0], kind, p.Path)
	files, err := s.o.Source.CommitDiff(ctx, p.repository, c, p.Path)
	for _, f := range files {
		if err == nil && f.Old == p.Path && f.New != "" && f.New != p.Path {
			out.Renamed, out.RenamedURL = f.New, p.pageURL(source.PageBlob, f.New)
		}
	}
	return out
}
