package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// "Why is my file missing?": people paste the address of a file, on this server, on its
// code host or as repository/path, and get the reason and what to do.

const (
	whyPath = "/why"
	// maxWhyBytes bounds the pasted text.
	maxWhyBytes = 8 << 10
	// maxWhyElements bounds the elements of a repository's name: each prefix is looked
	// up.
	maxWhyElements = 16
)

// whyPage is the data of the page.
type whyPage struct {
	Asked      string
	Repository *code.Repository // nil if none was found
	RepoPath   string
	Path       string
	Ref        string
	// Verdict is the key of a text, and Detail its argument. Good is set if the file is
	// searchable.
	Verdict, Detail string
	Good            bool
	Found           bool   // the path exists at the revision
	Link            string // the address of the file or the reason
	Status          *wire.RepositoryStatus
}

// whyHandler serves the page, after the checks of a request that reads code.
func (s *Server) whyHandler() http.Handler {
	return s.o.Front.CodePage(whyPath, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := s.codeVisit(w, r)
		if err := s.whyPage(w, v); err != nil {
			s.showError(w, v, err)
		}
	}), s.refuseCode)
}

func (s *Server) whyPage(w http.ResponseWriter, v *pageRequest) error {
	p := &whyPage{Asked: cutText(strings.TrimSpace(v.r.URL.Query().Get("file")), maxWhyBytes)}
	if p.Asked != "" {
		ctx, cancel := context.WithTimeout(v.r.Context(), operationsTimeout)
		defer cancel()
		if err := s.explainFile(ctx, v, p); err != nil {
			return err
		}
	}
	return s.renderPage(w, v, view{template: "why", title: s.texts.mustFormat("why"), data: p})
}

// explainFile fills in the verdict.
func (s *Server) explainFile(ctx context.Context, v *pageRequest, p *whyPage) error {
	repository, address, rest, err := s.findPasted(ctx, p.Asked)
	if errors.Is(err, code.ErrNotFound) {
		p.Verdict = s.texts.mustFormat("why_unregistered")
		return nil
	}
	if err != nil {
		return err
	}
	api := s.operationsOf(v)
	row, err := findRow(ctx, api, repository.Name)
	if err != nil {
		return operationError(v, err)
	}
	p.Repository, p.RepoPath = repository, repoPath(int64(row.RepoID))
	if p.Status, err = api.GetRepositoryStatus(ctx, int64(row.RepoID)); err != nil {
		return operationError(v, err)
	}
	readings := []pastedPath{{address.Revision, address.Path}}
	if address.Repository == "" {
		readings = readPastedPath(rest, p.Status.Refs)
	}
	p.Ref, p.Path = readings[0].ref, readings[0].path
	switch p.Status.State {
	case wire.RepositoryStatusStateRegistered, wire.RepositoryStatusStateImporting:
		p.Verdict = s.texts.mustFormat("why_importing")
		return nil
	case wire.RepositoryStatusStateFailed:
		p.Verdict, p.Detail = s.texts.mustFormat("why_failed"), p.Status.LastError.Message
		return nil
	}
	if p.Path == "" {
		p.Verdict = s.texts.mustFormat("why_nopath")
		return nil
	}
	for i := len(readings) - 1; i >= 0; i-- { // the first reading counts, unless another one leads to a file
		other := *p
		other.Ref, other.Path = readings[i].ref, readings[i].path
		if err := s.explainPath(ctx, &other); err != nil {
			return err
		}
		if i == 0 || other.Found {
			*p = other
			return nil
		}
	}
	return nil
}

// explainPath determines what the index knows of a path at a revision.
func (s *Server) explainPath(ctx context.Context, p *whyPage) error {
	p.Link = source.Address{Repository: p.Repository.Name, Revision: p.Ref, Kind: source.PageBlob, Path: p.Path}.String()
	revision, err := s.o.Source.Resolve(ctx, p.Repository, p.Ref)
	switch {
	case errors.Is(err, source.ErrNoRevision), errors.Is(err, source.ErrInvalidRevision):
		p.Verdict, p.Detail, p.Link = s.texts.mustFormat("why_noref"), p.Status.Selection.Message, p.RepoPath
		return nil
	case err != nil:
		return err
	}
	file, err := s.o.Source.File(ctx, p.Repository, p.Ref, p.Path)
	p.Found = err == nil || !errors.Is(err, source.ErrNoPath) && !errors.Is(err, source.ErrInvalidPath) || errors.Is(err, source.ErrDirectory) || errors.Is(err, source.ErrSubmodule)
	skipped, isSkipped := errors.AsType[*source.SkippedError](err)
	switch {
	case isSkipped:
		p.Verdict, p.Detail = s.texts.mustFormat("why_skipped"), skipped.Reason.Advice()
	case errors.Is(err, source.ErrDirectory):
		p.Verdict, p.Good, p.Link = s.texts.mustFormat("why_directory"), true, source.Address{Repository: p.Repository.Name, Revision: p.Ref, Kind: source.PageTree, Path: p.Path}.String()
	case errors.Is(err, source.ErrSubmodule):
		p.Verdict, p.Detail = s.texts.mustFormat("why_skipped"), code.SkipSubmodule.Advice()
	case errors.Is(err, source.ErrBinary):
		p.Verdict, p.Detail = s.texts.mustFormat("why_skipped"), code.SkipBinary.Advice()
	case errors.Is(err, source.ErrNoPath), errors.Is(err, source.ErrInvalidPath):
		p.Verdict, p.Link = s.texts.mustFormat("why_absent"), source.Address{Repository: p.Repository.Name, Revision: p.Ref, Kind: source.PageTree}.String()
		if p.Status.Freshness.WaitingPushes > 0 {
			p.Verdict = s.texts.mustFormat("why_waiting")
		}
	case errors.Is(err, source.ErrTooLarge):
		p.Verdict, p.Detail = s.texts.mustFormat("why_skipped"), code.SkipTooLarge.Advice()
	case err != nil:
		return fmt.Errorf("explain %s: %w", p.Path, err)
	case file.Skipped != "":
		p.Verdict, p.Detail = s.texts.mustFormat("why_skipped"), file.Skipped.Advice()
	case revision.Ref == "":
		p.Verdict, p.Detail = s.texts.mustFormat("why_noref"), p.Status.Selection.Message
	case file.PartialSymbols != "":
		p.Verdict, p.Detail, p.Good = s.texts.mustFormat("why_partial"), file.PartialSymbols.Advice(), true
	default:
		p.Verdict, p.Good = s.texts.mustFormat("why_searchable"), true
	}
	return nil
}

// findPasted returns the repository at the beginning of the pasted text, preferring the
// longest name: the text is the address of a page of this server or any other text. The
// error wraps code.ErrNotFound if none exists for the visitor.
func (s *Server) findPasted(ctx context.Context, text string) (r *code.Repository, address source.Address, rest string, err error) {
	u, err := url.Parse(text)
	below := text
	if err == nil {
		below = strings.TrimPrefix(u.EscapedPath(), s.public.Path())
	}
	if err == nil && strings.HasPrefix(below, source.AddressPrefix) {
		for _, address := range source.ReadAddress(below) {
			if r, err = s.o.Code.Repository(ctx, address.Repository); !errors.Is(err, code.ErrNotFound) {
				return r, address, "", err
			}
		}
		return nil, address, "", code.ErrNotFound
	}
	switch name, path, _ := strings.Cut(text, ":"); {
	case err == nil && u.Host != "":
		text = u.Host + u.Path
	case !strings.Contains(name, "/") && path != "":
		_, host, ok := strings.Cut(name, "@") // git@host:owner/name
		if !ok {
			host = name
		}
		text = host + "/" + path
	}
	elements := strings.Split(strings.Trim(text, "/"), "/")
	for n := min(len(elements), maxWhyElements); n > 0; n-- {
		name := strings.TrimSuffix(strings.Join(elements[:n], "/"), ".git")
		if r, err = s.o.Code.Repository(ctx, name); !errors.Is(err, code.ErrNotFound) {
			return r, address, strings.Join(elements[n:], "/"), err
		}
	}
	return nil, address, "", code.ErrNotFound
}

// pathMarks are the separators that code hosts put between a repository and a revision,
// the longer ones first.
var pathMarks = []string{"-/blob/", "-/tree/", "-/raw/", "src/branch/", "src/tag/", "src/commit/", "raw/branch/", "blob/", "tree/", "raw/", "src/", "blame/", "edit/"}

// A pastedPath is a reading of the text after a repository in an address.
type pastedPath struct{ ref, path string }

// readPastedPath returns the readings, most likely first: after a separator of a code
// host the longest indexed ref at the beginning, or else the first element; and the whole
// text as a path of the default branch, which may have a directory named like a
// separator.
func readPastedPath(rest string, refs []wire.RefStatus) []pastedPath {
	plain := pastedPath{path: rest}
	i := slices.IndexFunc(pathMarks, func(mark string) bool { return strings.HasPrefix(rest, mark) })
	if i < 0 {
		return []pastedPath{plain}
	}
	rest = rest[len(pathMarks[i]):]
	var marked pastedPath
	for _, r := range refs {
		short := code.Ref(r.Ref).Short()
		if after, ok := strings.CutPrefix(rest, short+"/"); ok && len(short) > len(marked.ref) {
			marked = pastedPath{short, after}
		}
	}
	if marked.ref == "" {
		marked.ref, marked.path, _ = strings.Cut(rest, "/")
	}
	if marked.path == "" {
		return []pastedPath{plain} // a directory named like a separator, with a file
	}
	return []pastedPath{marked, plain}
}
