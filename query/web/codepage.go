package web

import (
	"context"
	"errors"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/web/internal/codehtml"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/pageurl"
)

// markup is HTML that codehtml, diffhtml or document has produced from a repository's
// text.
type markup = template.HTML

// codePage is a resolved address and its page.
type codePage struct {
	source.Address
	repository *code.Repository
	found      source.Revision // what the revision of the address refers to
	view       view
	raw        *rawFile // the response, if it is not a page
	redirectTo string   // another address, which shows the content
}

// commit returns the commit that the page reads. A page shows one commit, even while the
// ref moves.
func (p *codePage) commit() string { return string(p.found.Commit) }

// codeData is the common data of the templates of pages about code.
type codeData struct {
	Kind             source.PageKind
	Repository, Root string
	Revision         string // as in the address; empty means the default branch
	Ref              string // the ref for searches; empty for the default branch and for revisions that searches do not cover
	Label            string // of the menu of branches and tags: what the page shows
	Commit           string
	Path             string
	Up               []crumb // the parent directories
	Name             string  // of the file or directory; empty at the root
	Refs             []refLink
	Kept             []choice // parameters that pages of other revisions keep
	MoreRefs         bool
	Badge            *badge
	Links            codeLinks
	Notes            []string
	Problem          *problem // why there is nothing to show, and what to do
	Tree             []treeRow
	Body             any // the data of this kind of page
}

// codeLinks are links to other pages of the same file or directory; empty ones are
// omitted.
type codeLinks struct {
	Blob, Blame, History, Raw, Permalink, Host, Editor, EditorSetup string
	Source, Rendered, Wrap, Unwrap, Unblame, Compare                string
}

// problem explains why there is no text, and what the reader can do.
type problem struct {
	Icon, Title, Text string
	Links             []crumb
}

// crumb is a link with a name.
type crumb struct{ Name, URL string }

// refLink is an entry of the menu of branches and tags.
type refLink struct {
	Name, URL    string
	Compare      string // what it changed since it left the revision of the page; empty for that revision
	Tag, Current bool
}

// badge shows how far the index is behind the pushes of a repository.
type badge struct{ State, Text, Title string }

// Bounds of the elements around a file.
const (
	maxCrumbs   = 64  // links to the nearest parent directories
	maxMenuRefs = 100 // branches and tags in the menu
)

// newCodeData returns the data of all pages about code.
func (s *Server) newCodeData(r *http.Request, p *codePage) (*codeData, error) {
	d := &codeData{
		Kind: p.Kind, Repository: p.repository.Name, Root: p.pageURL(source.PageTree, ""), Revision: p.Revision, Commit: p.commit(), Path: p.Path,
	}
	if p.Revision != "" {
		d.Ref = string(p.found.Ref)
	}
	elements := strings.Split(p.Path, "/")
	for i, name := range elements[:len(elements)-1] {
		if len(elements)-i <= maxCrumbs {
			d.Up = append(d.Up, crumb{name, p.pageURL(source.PageTree, strings.Join(elements[:i+1], "/"))})
		}
	}
	d.Name = elements[len(elements)-1]
	d.Links.History = p.pageURL(source.PageCommits, p.Path)
	d.Links.Permalink = p.commitURL(p.found.Commit, p.Kind, p.Path)
	if r.URL.RawQuery != "" && len(r.URL.RawQuery) < maxReturnBytes {
		d.Links.Permalink += "?" + r.URL.Query().Encode()
	}
	d.Links.Compare = source.Address{Repository: p.Repository, Kind: source.PageCompare, Path: "..." + p.Revision}.String()
	d.Links.Host = p.hostURL(0, 0)
	if err := s.addRefs(r, p, d); err != nil {
		return nil, err
	}
	d.Badge = s.newBadge(r.Context(), p.repository.ID)
	return d, nil
}

// pageURL returns the address of another page of the same revision.
func (p *codePage) pageURL(kind source.PageKind, path string) string {
	return source.Address{Repository: p.Repository, Revision: p.Revision, Kind: kind, Path: path}.String()
}

// commitURL returns the address of a page at a commit.
func (p *codePage) commitURL(commit code.CommitID, kind source.PageKind, path string) string {
	return source.Address{Repository: p.Repository, Revision: string(commit), Kind: kind, Path: path}.String()
}

// hostURL returns the page of the file or directory on its code host.
func (p *codePage) hostURL(first, last int) string {
	pages, ref := pageurl.New(p.repository), code.Ref(p.Revision)
	switch {
	case p.Path == "" && p.Revision == "":
		return pages.RepositoryURL()
	case p.Path == "" || p.Kind == source.PageTree:
		return pages.RefURL(ref)
	}
	return pages.LinesURL(ref, p.Path, first, last)
}

// addRefs fills the menu with the branches and tags that searches find.
func (s *Server) addRefs(r *http.Request, p *codePage, d *codeData) error {
	refs, err := s.o.Source.IndexedRefs(r.Context(), p.repository)
	if err != nil {
		return err
	}
	suffix := ""
	if kept := keptQuery(p.Kind, r.URL.Query()); len(kept) > 0 {
		suffix = "?" + kept.Encode()
		for _, name := range slices.Sorted(maps.Keys(kept)) {
			d.Kept = append(d.Kept, choice{Label: name, Value: kept.Get(name)})
		}
	}
	kind, path, base := p.Kind, p.Path, p.Revision
	if kind == source.PageRaw || kind == source.PageCommit || kind == source.PageCompare {
		kind, path, base = source.PageTree, "", d.Commit
	}
	named := p.namedRef(refs)
	switch {
	case named != "":
		d.Label = named.Short()
	case p.Revision != "" && !strings.HasPrefix(d.Commit, p.Revision):
		d.Label = p.Revision
	default:
		d.Label = shortCommit(d.Commit)
	}
	if d.MoreRefs = len(refs) > maxMenuRefs; d.MoreRefs {
		refs = refs[:maxMenuRefs]
	}
	slices.SortStableFunc(refs, func(a, b source.Branch) int {
		switch {
		case a.Default:
			return -1
		case b.Default:
			return 1
		}
		return compareRefs(a.Ref, b.Ref)
	})
	for _, b := range refs {
		link := refLink{Name: b.Ref.Short(), Tag: b.Ref.IsTag(), Current: b.Ref == named}
		name := string(b.Ref)
		if b.Default {
			name = ""
		}
		link.URL = source.Address{Repository: p.Repository, Revision: name, Kind: kind, Path: path}.String() + suffix
		if !link.Current {
			link.Compare = source.Address{Repository: p.Repository, Kind: source.PageCompare, Path: base + "..." + name}.String()
		}
		d.Refs = append(d.Refs, link)
	}
	return nil
}

// keptQuery returns the parameters that a page has at every revision: lines, filters and
// views.
func keptQuery(kind source.PageKind, query url.Values) url.Values {
	names := map[source.PageKind][]string{
		source.PageBlob:    {"L", "highlightRange", "blame", "view", "wrap", "long"},
		source.PageCommits: {"L", "line", "author", "since", "until", "q"},
	}[kind]
	kept := url.Values{}
	for _, name := range names {
		if v := query.Get(name); v != "" && len(v) <= maxFilterBytes {
			kept.Set(name, v)
		}
	}
	return kept
}

// newBadge returns the freshness of a repository's index; nil if it is unknown.
func (s *Server) newBadge(ctx context.Context, id code.RepositoryID) *badge {
	if s.o.Status == nil {
		return nil
	}
	st, err := s.o.Status.Status(ctx, id)
	if err != nil {
		return nil // the page works without it
	}
	now := s.o.Now()
	b := &badge{State: "ok"}
	switch waits := now.Sub(st.Freshness.OldestAt); {
	case st.LastError != nil:
		b.State, b.Text, b.Title = "bad", s.texts.mustFormat("codeBadgeFailed"), s.texts.mustFormat("codeBadgeFailedTitle")
	case st.Progress != nil && st.Freshness.IndexedAt.IsZero():
		b.State, b.Text, b.Title = "warn", s.texts.mustFormat("codeBadgeImporting"), s.texts.mustFormat("codeBadgeImportingTitle")
	case st.Freshness.Waiting == 0 && st.Freshness.IndexedAt.IsZero():
		return nil
	case st.Freshness.Waiting == 0 || waits < staleWarning:
		b.Text = s.texts.mustFormat("codeBadgeFresh")
		b.Title = s.texts.mustFormat("codeBadgeFreshTitle", "time", formatMoment(st.Freshness.IndexedAt))
	default:
		b.State = "warn"
		if waits >= staleFailure {
			b.State = "bad"
		}
		b.Text = s.texts.mustFormat("codeBadgeStale", "age", s.texts.formatSpan(waits))
		b.Title = s.texts.mustFormat("codeBadgeStaleTitle", "n", st.Freshness.Waiting)
	}
	return b
}

// setView sets the page. The most specific part of its title comes first.
func (p *codePage) setView(template string, d *codeData) {
	title := strings.TrimPrefix(p.Path+" · "+p.Repository, " · ")
	p.view = view{template: template, title: codehtml.SpellHidden(title), data: d, broad: true, script: codeScript, revalidates: true}
}

// codeScript is the script of pages about code.
const codeScript = "code.js"

// markVisible formats a name with its hidden characters made visible, for templates.
func markVisible(s string) markup { return markup(codehtml.AppendName(nil, s)) }

// markText is markVisible for a text of several lines.
func markText(s string) markup { return markup(codehtml.AppendText(nil, []byte(s))) }

// isOneOf reports whether err is one of errs.
func isOneOf(err error, errs ...error) bool {
	for _, e := range errs {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
