package web

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Code provides the API's data to pages about code; api.Server implements it.
type Code interface {
	// Repository returns the repository with that full name that exists for the context's
	// principal. The error wraps code.ErrNotFound if there is none.
	Repository(ctx context.Context, name string) (*code.Repository, error)
	// RepositoryNames returns the full names of the repositories that exist for the
	// context's principal.
	RepositoryNames(ctx context.Context) (iter.Seq[string], error)
	// Submodules returns the submodules in a directory of a revision by path. The names
	// of their repositories are set if these exist for the context's principal.
	Submodules(ctx context.Context, r *code.Repository, revision, directory string) (map[string]source.Submodule, error)
}

// Errors of pages about code. A page that the visitor may not see looks like one that
// does not exist.
var (
	errNoCode     = errors.New("no such page about code")
	errNoFile     = errors.New("no such file or directory")
	errNoRevision = errors.New("no such revision")
	errCredential = errors.New("a credential is missing or not valid")
)

// browseHandler returns the handler of all pages about code.
func (s *Server) browseHandler() http.Handler {
	return s.o.Front.CodePage(source.AddressPrefix, s.getOnly(func(w http.ResponseWriter, v *pageRequest) error {
		p, err := s.showCode(w, v)
		if isOneOf(err, errNoCode, errNoFile, errNoRevision) {
			s.showMissing(w, v, p, err)
			return nil
		}
		return err
	}), s.refuseCode)
}

// codeVisit returns the visit of a request that has passed the checks.
func (s *Server) codeVisit(w http.ResponseWriter, r *http.Request) *pageRequest {
	setHeaders(w.Header())
	v := &pageRequest{r: r, principal: auth.From(r.Context()), access: accessOpen}
	if v.principal.Actor.Kind == account.ActorUser {
		v.user, _ = s.o.Accounts.Me(v.principal) // without the user the page has no menu
	}
	return v
}

// refuseCode responds to a request that may not read code: it redirects a browser to the
// sign-in page, which leads back.
func (s *Server) refuseCode(w http.ResponseWriter, r *http.Request, err error) {
	setHeaders(w.Header())
	v := &pageRequest{r: r, access: accessOpen}
	switch {
	case errors.Is(err, auth.ErrNotReady):
		err = fmt.Errorf("%w: %w", ErrNotReady, err)
	case errors.Is(err, auth.ErrUnauthenticated) && strings.Contains(r.Header.Get("Accept"), "text/html"):
		if auth.HasCookie(r) {
			http.SetCookie(w, s.o.Accounts.NoCookie())
		}
		seeOther(w, v, signInFirst(r))
		return
	case errors.Is(err, auth.ErrUnauthenticated):
		w.Header().Set("WWW-Authenticate", `Bearer realm="quarry"`)
		err = fmt.Errorf("%w: %w", errCredential, err)
	}
	s.showError(w, v, err)
}

// showCode resolves an address, records the read in the audit log and then shows the
// page.
func (s *Server) showCode(w http.ResponseWriter, v *pageRequest) (*codePage, error) {
	p, err := s.findCode(v.r)
	if err == nil && p.Kind != source.PageRaw && hasEscapedSlash(v.r.URL.EscapedPath()) && !hasEscapedSlash(p.Address.String()) {
		// An address of an earlier release. Programs that read raw files may not follow redirects.
		address := p.Address.String()
		if v.r.URL.RawQuery != "" {
			address += "?" + v.r.URL.RawQuery
		}
		seeOther(w, v, address)
		return p, nil
	}
	if err == nil {
		err = s.readCode(v, p)
	}
	status := http.StatusOK
	if err != nil {
		status = failureOf(err).status
	}
	if err := s.noteCode(w, v, p, status); err != nil {
		return p, fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	}
	switch {
	case err != nil:
		return p, err
	case p.redirectTo != "":
		seeOther(w, v, p.redirectTo)
		return p, nil
	case p.Kind == source.PageRaw:
		return p, sendRaw(w, p)
	case p.view.part != "":
		return p, s.renderPart(w, p.view.template, p.view.part, p.view.data)
	}
	return p, s.renderPage(w, v, p.view)
}

// hasEscapedSlash reports whether a path of an address has an escaped slash.
func hasEscapedSlash(escaped string) bool {
	return strings.Contains(escaped, "%2F") || strings.Contains(escaped, "%2f")
}

// findCode returns the first reading of the address whose repository exists for the
// visitor. If there is none, it returns the most likely reading and errNoCode.
func (s *Server) findCode(r *http.Request) (*codePage, error) {
	// A path of many elements is expensive to show, so limit paths to MaxPathBytes.
	readings := slices.DeleteFunc(source.ReadAddress(r.URL.EscapedPath()), func(a source.Address) bool { return len(a.Path) > code.MaxPathBytes })
	for _, a := range readings {
		repository, err := s.o.Code.Repository(r.Context(), a.Repository)
		if err == nil {
			return &codePage{Address: a, repository: repository}, nil
		}
		if !errors.Is(err, code.ErrNotFound) {
			return &codePage{Address: a}, err
		}
	}
	p := &codePage{}
	if len(readings) > 0 {
		p.Address = readings[0]
	}
	return p, errNoCode
}

// noteCode records the read as the API does.
func (s *Server) noteCode(w http.ResponseWriter, v *pageRequest, p *codePage, status int) error {
	if s.o.Audit == nil {
		return nil
	}
	rec := audit.Record{
		At: s.o.Now().UTC(), Action: audit.FetchedSource, Actor: v.principal.Actor,
		TargetType: audit.TargetRepository, Target: p.Repository, RequestID: w.Header().Get("X-Request-Id"), Status: status,
	}
	switch p.Kind {
	case source.PageTree:
		rec.Action = audit.FetchedTree
	case source.PageCommits:
		rec.Action = audit.ListedCommits
	case source.PageCommit:
		rec.Action = audit.FetchedCommit
	case source.PageCompare:
		rec.Action = audit.FetchedDiff
	case source.PageBlob:
		if v.r.URL.Query().Get("blame") == "1" {
			rec.Action = audit.FetchedBlame
		}
	}
	if p.view.part == lastFragment {
		rec.Action = audit.ListedCommits
	}
	if p.Path != "" {
		rec.TargetType, rec.Target = audit.TargetFile, p.Repository+":"+p.Path
	}
	rec.Target = cutText(rec.Target, audit.MaxTargetBytes)
	if p.Revision != "" {
		rec.Metadata = map[string]string{"ref": cutText(p.Revision, audit.MaxMetadataBytes)}
	}
	return s.o.Audit.Note(v.r.Context(), rec)
}

// cutText returns at most n bytes of s, as valid text.
func cutText(s string, n int) string {
	return strings.ToValidUTF8(s[:min(len(s), n)], "")
}

// readCode fills in the data of the page.
func (s *Server) readCode(v *pageRequest, p *codePage) error {
	err := s.readKind(v, p)
	switch {
	case isOneOf(err, source.ErrNoPath, source.ErrInvalidPath):
		return fmt.Errorf("%w: %w", errNoFile, err)
	case isOneOf(err, source.ErrNoRevision, source.ErrInvalidRevision):
		return fmt.Errorf("%w: %w", errNoRevision, err)
	}
	return err
}

// readKind reads the page of a kind. A page shows one commit, so the revision is resolved
// first; commits and comparisons are named in place of the path.
func (s *Server) readKind(v *pageRequest, p *codePage) error {
	switch p.Kind {
	case source.PageCommit:
		return s.readCommit(v, p)
	case source.PageCompare:
		return s.readComparison(v, p)
	}
	if name := v.r.URL.Query().Get("rev"); name != "" && len(name) <= code.MaxRefBytes {
		other := p.Address
		other.Revision = name
		p.redirectTo = other.String()
		if kept := keptQuery(p.Kind, v.r.URL.Query()); len(kept) > 0 {
			p.redirectTo += "?" + kept.Encode()
		}
		return nil
	}
	var err error
	p.found, err = s.o.Source.Resolve(v.r.Context(), p.repository, p.Revision)
	if p.Kind == source.PageTree && p.Path == "" && p.Revision == "" && isOneOf(err, source.ErrNoRevision, source.ErrUnavailable) {
		d := &codeData{Kind: p.Kind, Repository: p.repository.Name, Root: p.pageURL(source.PageTree, ""), Body: &treeBody{}}
		d.Problem = &problem{Icon: "clock", Title: s.texts.mustFormat("codeNotYet"), Text: s.texts.mustFormat("codeNotYetText")}
		p.setView("tree", d)
		return nil
	}
	if err != nil {
		return err
	}
	switch p.Kind {
	case source.PageTree:
		return s.readTree(v, p)
	case source.PageRaw:
		return s.readRaw(v, p)
	case source.PageCommits:
		return s.readCommits(v, p)
	}
	return s.readFile(v, p)
}
