package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
)

//go:embed pages
var pageFiles embed.FS

// templates are the pages, each with the frame around it.
type templates struct {
	byName map[string]*template.Template
}

func newTemplates(a *assets) (*templates, error) {
	functions := template.FuncMap{"asset": a.assetURL, "day": formatDay, "moment": formatMoment, "list": joinWords}
	base, err := template.New("base").Funcs(functions).ParseFS(pageFiles, "pages/base.html")
	if err != nil {
		return nil, fmt.Errorf("web: templates: %w", err)
	}
	files, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		return nil, fmt.Errorf("web: templates: %w", err)
	}
	t := &templates{byName: map[string]*template.Template{}}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "pages/"), ".html")
		if name == "base" {
			continue
		}
		page, err := template.Must(base.Clone()).ParseFS(pageFiles, file)
		if err != nil {
			return nil, fmt.Errorf("web: templates: %w", err)
		}
		t.byName[name] = page
	}
	return t, nil
}

// frame is what every page is given.
type frame struct {
	Title   string
	User    *account.User // nil: not signed in
	Owner   bool
	Token   string // of forms
	Section string // of the settings; empty: none of them
	Narrow  bool
	Version string
	Notice  string
	Form    form
	Data    any
}

// view is a page to show. Status 0 is 200.
type view struct {
	template, title, section string
	narrow                   bool
	status                   int
	form                     form
	data                     any
}

// renderPage renders a page whole before the first byte is sent.
func (s *Server) renderPage(w http.ResponseWriter, v *pageRequest, p view) error {
	f := frame{
		Title: p.title, Section: p.section, Narrow: p.narrow, Version: s.o.Version, Form: p.form, Data: p.data,
		Notice: notices[v.r.URL.Query().Get("done")],
	}
	if v.user != nil {
		f.User, f.Owner, f.Token = v.user, v.isOwner(), s.formToken(v.user.ID)
	}
	if len(p.form.errors) > 0 {
		f.Notice = ""
		if p.status == 0 {
			p.status = http.StatusUnprocessableEntity
		}
	}
	var b bytes.Buffer
	if err := s.templates.byName[p.template].ExecuteTemplate(&b, "base", &f); err != nil {
		return fmt.Errorf("web: render %s: %w", p.template, err)
	}
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	if p.status != 0 {
		w.WriteHeader(p.status)
	}
	_, _ = w.Write(b.Bytes()) // a browser that has gone needs no page
	return nil
}

// formatDay and moment write times for people; empty for none.
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
