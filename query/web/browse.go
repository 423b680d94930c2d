package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Code gives the pages about code what the API has; api.Server does.
type Code interface {
	// CodePage wraps a page in the checks of a request that reads code. fail writes
	// the response for callers without permission.
	CodePage(route string, page http.Handler, fail func(w http.ResponseWriter, r *http.Request, err error)) http.Handler
	// Repository returns the repository with that full name that exists for the
	// context's principal. The error wraps code.ErrNotFound if there is none.
	Repository(ctx context.Context, name string) (*code.Repository, error)
}

// maxListed bounds the entries that the page of a directory shows.
const maxListed = 5000

// Failures of pages about code. One that may not be seen looks like one that is not
// there.
var (
	errNoCode     = errors.New("no such page about code")
	errNoFile     = errors.New("no such file or directory")
	errNoRevision = errors.New("no such revision")
	errCredential = errors.New("a credential is missing or not valid")
)

// browseHandler returns the handler of all pages about code.
func (s *Server) browseHandler() http.Handler {
	return s.o.Code.CodePage(source.AddressPrefix, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := s.codeVisit(w, r)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			s.showError(w, v, errMethod)
			return
		}
		if err := s.showCode(w, v); err != nil {
			s.showError(w, v, err)
		}
	}), s.refuseCode)
}

// codeVisit is the visit of a request that has passed the checks.
func (s *Server) codeVisit(w http.ResponseWriter, r *http.Request) *pageRequest {
	setHeaders(w.Header())
	v := &pageRequest{r: r, principal: auth.From(r.Context()), access: accessOpen}
	if v.principal.Actor.Kind == account.ActorUser {
		v.user, _ = s.o.Accounts.Me(v.principal) // without it the page has no menu
	}
	return v
}

// refuseCode answers a request that may not read code: a browser is sent to sign in
// and back.
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

// codePage is an address that was found, and the page of it.
type codePage struct {
	source.Address
	repository *code.Repository
	view       view
	raw        []byte // the answer, where it is no page
	redirectTo string // another address that shows what is there
}

// showCode finds out what an address shows, notes it in the audit log and then
// shows it.
func (s *Server) showCode(w http.ResponseWriter, v *pageRequest) error {
	p, err := s.findCode(v.r)
	if err == nil {
		err = s.readCode(v, p)
	}
	status := http.StatusOK
	if err != nil {
		status = failureOf(err).status
	}
	if err := s.noteCode(w, v, p, status); err != nil {
		return fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	}
	switch {
	case err != nil:
		return err
	case p.redirectTo != "":
		seeOther(w, v, p.redirectTo)
		return nil
	case p.Kind == source.PageRaw:
		return sendRaw(w, p)
	}
	return s.renderPage(w, v, p.view)
}

// findCode returns the first reading of the address whose repository exists for the
// visitor; if none does, the likeliest reading and errNoCode.
func (s *Server) findCode(r *http.Request) (*codePage, error) {
	// A path of many elements is expensive to show: none is longer than MaxPathBytes.
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

// noteCode makes the entry that the API makes of the same read.
func (s *Server) noteCode(w http.ResponseWriter, v *pageRequest, p *codePage, status int) error {
	if s.o.Audit == nil {
		return nil
	}
	rec := audit.Record{
		At: s.o.Now().UTC(), Action: audit.FetchedSource, Actor: v.principal.Actor,
		TargetType: audit.TargetRepository, Target: p.Repository, RequestID: w.Header().Get("X-Request-Id"), Status: status,
	}
	if p.Kind == source.PageTree {
		rec.Action = audit.FetchedTree
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

// readCode fills in what the page shows.
func (s *Server) readCode(v *pageRequest, p *codePage) error {
	var err error
	if p.Kind == source.PageTree {
		err = s.readTree(v.r.Context(), p)
	} else {
		err = s.readFile(v, p)
	}
	switch {
	case errors.Is(err, source.ErrNoPath), errors.Is(err, source.ErrInvalidPath):
		return fmt.Errorf("%w: %w", errNoFile, err)
	case errors.Is(err, source.ErrNoRevision), errors.Is(err, source.ErrInvalidRevision):
		return fmt.Errorf("%w: %w", errNoRevision, err)
	}
	return err
}

// codeData is what the template of pages about code is given.
type codeData struct {
	Repository, Root string
	Revision         string
	Up               []crumb // the directories above
	Name             string  // of the file or directory; empty at the root
	HostURL          string  // the repository's page on its code host
	Problem          string  // why there is nothing to show, and what to do
	Notes            []string

	Entries []entryRow // of a directory

	RawURL, Language string // of a file
	Lines            int
	Text             markup
	Previous, Next   string // other parts of a long file
}

// crumb is a link to a directory above, entryRow one to an entry of a directory.
type crumb struct{ Name, URL string }

type entryRow struct {
	Name, URL string // no URL: a submodule
	Directory bool
}

// maxCrumbs bounds the links to the directories above a file, the nearest of them.
const maxCrumbs = 64

// pageData returns what all pages about code show.
func (p *codePage) pageData() *codeData {
	d := &codeData{Repository: p.repository.Name, Root: p.pageURL(source.PageTree, ""), Revision: p.Revision}
	if u := p.repository.WebURL; strings.HasPrefix(u, "https://") || strings.HasPrefix(u, "http://") {
		d.HostURL = u
	}
	elements := strings.Split(p.Path, "/")
	for i, name := range elements[:len(elements)-1] {
		if len(elements)-i > maxCrumbs {
			continue
		}
		d.Up = append(d.Up, crumb{name, p.pageURL(source.PageTree, strings.Join(elements[:i+1], "/"))})
	}
	d.Name = elements[len(elements)-1]
	return d
}

// pageURL is the address of another page of the same revision.
func (p *codePage) pageURL(kind source.PageKind, path string) string {
	return source.Address{Repository: p.Repository, Revision: p.Revision, Kind: kind, Path: path}.String()
}

// setView sets the page. Its title begins with what is special.
func (p *codePage) setView(d *codeData) {
	p.view = view{template: "code", title: strings.TrimPrefix(p.Path+" · "+p.Repository, " · "), data: d}
}

// readTree makes the page of a directory. The root of a repository of which nothing
// is indexed yet says so.
func (s *Server) readTree(ctx context.Context, p *codePage) error {
	d := p.pageData()
	p.setView(d)
	entries, err := s.o.Source.Folder(ctx, p.repository, p.Revision, p.Path)
	switch {
	case errors.Is(err, source.ErrNoPath) && p.Path != "":
		return s.readFileOfTree(ctx, p, err)
	case p.Path == "" && p.Revision == "" && (errors.Is(err, source.ErrNoRevision) || errors.Is(err, source.ErrUnavailable)):
		d.Problem = "Nothing of this repository is indexed yet. Please look again in a moment; its status in the API says how far it is."
		return nil
	case errors.Is(err, source.ErrTooLarge):
		d.Problem = fmt.Sprintf("The directory has more than %d entries, which is more than a page can list. Clone the repository to list it.", source.MaxEntries)
		return nil
	case err != nil:
		return err
	}
	if len(entries) > maxListed {
		d.Notes = append(d.Notes, fmt.Sprintf("These are the first %d of %d entries. POST /api/tree lists all.", maxListed, len(entries)))
		entries = entries[:maxListed]
	}
	for _, e := range entries {
		d.Entries = append(d.Entries, p.newEntryRow(e))
	}
	return nil
}

func (p *codePage) newEntryRow(e source.Entry) entryRow {
	path := strings.TrimPrefix(p.Path+"/"+e.Name, "/")
	switch e.Kind {
	case source.KindTree:
		return entryRow{e.Name, p.pageURL(source.PageTree, path), true}
	case source.KindCommit:
		return entryRow{Name: e.Name}
	}
	return entryRow{e.Name, p.pageURL(source.PageBlob, path), false}
}

// readFileOfTree redirects to the page of a file that was requested as a directory.
func (s *Server) readFileOfTree(ctx context.Context, p *codePage, missing error) error {
	_, err := s.o.Source.File(ctx, p.repository, p.Revision, p.Path)
	there := []error{nil, source.ErrBinary, source.ErrTooLarge, source.ErrSubmodule}
	if !slices.ContainsFunc(there, func(e error) bool { return errors.Is(err, e) }) {
		return missing
	}
	p.redirectTo = p.pageURL(source.PageBlob, p.Path)
	return nil
}
