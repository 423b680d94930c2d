package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/query/publicurl"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/account"
)

//go:embed pages
var pageFiles embed.FS

// templates are the pages, each within the frame. A page is parsed when it is first
// shown, so that a server that starts does not wait for the pages that it may not show.
type templates struct {
	base   *template.Template // the frame and the parts of pages; never executed
	public publicurl.URL
	mu     sync.Mutex
	byName map[string]*template.Template
}

func newTemplates(a *assets, t *texts, public publicurl.URL, now func() time.Time) (*templates, error) {
	functions := template.FuncMap{
		"asset": a.assetURL, "icon": func(name string) (template.HTML, error) { return a.renderIcon(public, name) }, "resolve": resolveAny(public), "path": public.Path, "text": t.format, "number": formatNumber, "bytes": formatBytes, "list": joinWords,
		"day": formatDay, "moment": formatMoment, "elapsed": formatElapsed, "span": t.formatSpan, "ago": func(at time.Time) string { return t.formatAge(at, now()) },
		"short": shortCommit, "ref": shortRef, "searchURL": func(query string) string { return plainParams().URL(query) }, "repositoryURL": repositoryURL,
		"visible": markVisible, "visibletext": markText, "editorlink": trustEditorURL,
	}
	base, err := template.New("base").Funcs(functions).ParseFS(pageFiles, "pages/base.html", "pages/operate.html", "pages/part-*.html")
	if err != nil {
		return nil, fmt.Errorf("web: templates: %w", err)
	}
	return &templates{base: base, public: public, byName: map[string]*template.Template{}}, nil
}

// execute writes a part of a page, which is a file in pages without its extension.
func (t *templates) execute(w io.Writer, name, part string, data any) error {
	page, err := t.page(name)
	if err != nil {
		return err
	}
	return page.ExecuteTemplate(w, part, data)
}

func (t *templates) page(name string) (*template.Template, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if page := t.byName[name]; page != nil {
		return page, nil
	}
	page, err := t.base.Clone()
	if err != nil {
		return nil, fmt.Errorf("web: page %s: %w", name, err)
	}
	if page, err = page.ParseFS(pageFiles, "pages/"+name+".html"); err != nil {
		return nil, fmt.Errorf("web: page %s: %w", name, err)
	}
	resolveAddresses(page, t.public)
	t.byName[name] = page
	return page, nil
}

// frame is the common data of all pages.
type frame struct {
	Title       string
	User        *account.User // nil if not signed in
	Owner       bool
	Operations  bool   // whether there are pages about repositories and administration
	Token       string // of forms
	Section     string // of the settings; empty elsewhere
	Narrow      bool
	Broad       bool
	Script      string
	Preferences preferences
	Here        string // the path and query of the page, for the way back
	Version     string
	Notice      string
	HasSearch   bool          // whether there is a search box
	Search      *searchParams // its content; nil if empty
	Within      string        // the repository of the page, to which the search box offers to limit a search
	IsHome      bool          // the search box is in the page, not in the bar
	AsOf        string        // the moment in the past that the server shows
	Form        form
	Data        any
}

// commonScript is the default script of pages: the search box and the keyboard shortcuts.
const commonScript = "quarry.js"

// view is a page to show. Status 0 means 200.
type view struct {
	template, title, section string
	part                     string // the only part of the template to send, for a script
	narrow                   bool   // as narrow as a form
	broad                    bool   // as wide as the window: results, code
	script                   string // instead of commonScript, which it contains
	status                   int
	form                     form
	data                     any
	search                   *searchParams // the content of the search box
	isHome                   bool
	// revalidates lets the browser cache the page and revalidate it. Other pages are not
	// cached, because they contain personal data.
	revalidates bool
}

// newFrame returns the frame data of a page.
func (s *Server) newFrame(v *pageRequest, p *view) *frame {
	f := &frame{
		Title: p.title, Operations: s.o.API != nil, Section: p.section, Narrow: p.narrow, Broad: p.broad, Script: cmp.Or(p.script, commonScript), Version: s.o.Version, Form: p.form, Data: p.data,
		Preferences: readPreferences(v.r), Here: returnPath(v.r.URL.RequestURI()), Notice: notices[v.r.URL.Query().Get("done")],
		HasSearch: s.o.Search != nil, Search: p.search, IsHome: p.isHome,
	}
	if p.template == "error" {
		f.Here = "/" // a page that cannot be shown again is no way back
	}
	if d, ok := p.data.(*codeData); ok {
		f.Within = d.Repository
	} else if p.search != nil {
		f.Within = p.search.Within
	}
	if s.o.Search != nil {
		f.AsOf = s.o.Search.AsOf()
	}
	if v.user != nil {
		f.User, f.Owner, f.Token = v.user, v.isOwner(), s.maskToken(v.r, v.user.ID)
	}
	return f
}

// renderPage renders the whole page before it sends the first byte.
func (s *Server) renderPage(w http.ResponseWriter, v *pageRequest, p view) error {
	f := s.newFrame(v, &p)
	if len(p.form.errors) > 0 {
		f.Notice = ""
		if p.status == 0 {
			p.status = http.StatusUnprocessableEntity
		}
	}
	var b bytes.Buffer
	if err := s.templates.execute(&b, p.template, "base", f); err != nil {
		return fmt.Errorf("web: render %s: %w", p.template, err)
	}
	page, err := s.compressPage(w.Header(), v.r, b.Bytes())
	if err != nil {
		return err
	}
	if p.revalidates && p.status == 0 {
		sendRevalidated(w, v.r, page)
		return nil
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	if p.status != 0 {
		w.WriteHeader(p.status)
	}
	_, _ = w.Write(page) // the browser may have disconnected
	return nil
}

// sendRevalidated sends a page that the browser may cache, or a 304 if the cached page is
// current.
func sendRevalidated(w http.ResponseWriter, r *http.Request, page []byte) {
	sum := sha256.Sum256(page)
	h := w.Header()
	h.Set("Cache-Control", "private, no-cache")
	h.Add("Vary", "Cookie, Authorization")
	h.Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(page))
}

// formatDay formats a day for people; empty for the zero time.
func formatDay(t time.Time) string { return formatTime(t, "2 Jan 2006") }

func formatMoment(t time.Time) string { return formatTime(t, "2 Jan 2006, 15:04 UTC") }

func formatTime(t time.Time, layout string) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(layout)
}

// joinWords joins names and scopes.
func joinWords(words any) string {
	switch words := words.(type) {
	case []string:
		return strings.Join(words, ", ")
	case []account.Scope:
		names := make([]string, len(words))
		for i, w := range words {
			names[i] = string(w)
		}
		return strings.Join(names, ", ")
	}
	return fmt.Sprint(words)
}

// repositoryURL returns the page of a repository's root; templates call it.
func repositoryURL(name string) string {
	return source.Address{Repository: name, Kind: source.PageTree}.String()
}
