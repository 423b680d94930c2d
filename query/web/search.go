package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/indexing"
)

// Searches runs searches for the principal of a context; api.Server implements it.
type Searches interface {
	RunSearch(ctx context.Context, r search.Request, emit search.Emit, finish func(r *search.Result, incompleteReason string) error) error
	SearchableRepositories(ctx context.Context) ([]*search.Repository, error)
	Freshness(ctx context.Context, repositories []code.RepositoryID) (indexing.Summary, error)
	AsOf() string
}

// searchPath is the address of results.
const searchPath = "/search"

// fragmentEnd ends each part of the page that a script requests. If a file contains this
// control character, the part contains its symbol instead.
const fragmentEnd = "\x1e"

// errNoContext reports that a query names a search context that does not exist.
var errNoContext = errors.New("no such search context")

// searchHandler returns the handler of results.
func (s *Server) searchHandler(page pageHandler, label string) http.Handler {
	return s.o.Front.SearchPage(label, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := s.codeVisit(w, r)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			s.showError(w, v, errMethod)
			return
		}
		if err := page(w, v); err != nil {
			s.showError(w, v, err)
		}
	}), s.refuseCode)
}

// searchPage shows the results of a query: the head first, then files as they are found,
// then the summary.
func (s *Server) searchPage(w http.ResponseWriter, v *pageRequest) error {
	p := readSearchParams(v.r)
	if strings.TrimSpace(p.Query) == "" {
		if p.isFragment {
			return nil
		}
		seeOther(w, v, "/")
		return nil
	}
	started := s.o.Now()
	q, err := syntax.Parse(p.Query, syntax.Options{Regexp: p.Regexp, CaseSensitive: p.Case})
	if err == nil {
		err = s.checkContexts(v.r.Context(), q)
	}
	status := http.StatusOK
	refused, isRefused := errors.AsType[*syntax.Error](err)
	switch {
	case isRefused:
		status = http.StatusBadRequest
	case err != nil:
		status = failureOf(err).status
	}
	if err := s.recordSearch(w, v, &p, status); err != nil {
		return fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	}
	if isRefused {
		return s.showRefusedQuery(w, v, &p, refused)
	}
	if err != nil {
		return err
	}
	out := s.newResultWriter(w, v, &p)
	defer out.parts.endPage()
	if err := out.begin(); err != nil {
		return err
	}
	out.run(v.r.Context(), q, started)
	return nil
}

// recordSearch records a search in the audit log as the API does.
func (s *Server) recordSearch(w http.ResponseWriter, v *pageRequest, p *searchParams, status int) error {
	if s.o.Audit == nil {
		return nil
	}
	return s.o.Audit.Note(v.r.Context(), audit.Record{
		At: s.o.Now(), Action: audit.Searched, Actor: v.principal.Actor, TargetType: audit.TargetInstance,
		RequestID: w.Header().Get("X-Request-Id"), Status: status, Metadata: map[string]string{"query": cutText(p.Query, audit.MaxMetadataBytes)},
	})
}

// refusedQuery is an invalid query, with the position of the error.
type refusedQuery struct {
	Before, At, After, Message, Advice string
	Column                             int
}

// maxShownQuery bounds the parts of an invalid query before and after the mark.
const maxShownQuery = 200

func (s *Server) showRefusedQuery(w http.ResponseWriter, v *pageRequest, p *searchParams, refused *syntax.Error) error {
	text := strings.ToValidUTF8(p.Query, "\uFFFD")
	at := min(refused.Position, len(text))
	_, size := utf8.DecodeRuneInString(text[at:])
	from, to := at, at+size
	for from > 0 && (at-from < maxShownQuery || !utf8.RuneStart(text[from])) {
		from--
	}
	for to < len(text) && (to-at < maxShownQuery || !utf8.RuneStart(text[to])) {
		to++
	}
	d := &resultsData{searchParams: *p, Refused: &refusedQuery{
		Before: text[from:at], At: text[at : at+size], After: text[at+size : to], Message: toSentence(refused.Message), Advice: refused.Advice, Column: refused.Column,
	}}
	if p.isFragment {
		w.WriteHeader(http.StatusBadRequest)
		return s.templates.byName["results"].ExecuteTemplate(w, "refused", d.Refused)
	}
	return s.renderPage(w, v, view{template: "results", title: cutText(p.Query, 80), broad: true, script: resultsScript, status: http.StatusBadRequest, data: d, search: p})
}

// resultsScript is the script of results.
const resultsScript = "results.js"

// resultsData is the data of the results template before anything is found.
type resultsData struct {
	searchParams
	Refused *refusedQuery
}

// resultWriter writes one page of results.
type resultWriter struct {
	s        *Server
	w        http.ResponseWriter
	v        *pageRequest
	p        *searchParams
	parts    *partWriter
	files    fileWriter
	frame    *frame
	seen     []*search.Repository
	left     int          // files that the page does not show
	ranked   []rankedFile // files that are held back until they can be sorted by rank
	lowest   float64      // the lowest score of the files sent so far
	unsorted bool         // a file with a higher score followed one with a lower score
}

func (s *Server) newResultWriter(w http.ResponseWriter, v *pageRequest, p *searchParams) *resultWriter {
	d := &resultsData{searchParams: *p}
	out := &resultWriter{s: s, w: w, v: v, p: p, parts: s.newPartWriter(w, v.r), files: s.newFileWriter(p.FilesOnly)}
	out.frame = s.newFrame(v, &view{title: cutText(p.Query, 80), broad: true, script: resultsScript, data: d, search: p})
	return out
}

// begin sends the head and the form.
func (o *resultWriter) begin() error {
	if o.p.isFragment {
		return nil
	}
	var b bytes.Buffer
	page := o.s.templates.byName["results"]
	for _, part := range []string{"open", "begin"} {
		if err := page.ExecuteTemplate(&b, part, o.frame); err != nil {
			return fmt.Errorf("web: render results: %w", err)
		}
	}
	o.send("", b.Bytes())
	return nil
}

// send sends a part of the page immediately. Parts for scripts begin with their names.
func (o *resultWriter) send(name string, part []byte) {
	if o.p.isFragment {
		part = bytes.ReplaceAll(part, []byte(fragmentEnd), []byte("\u241e"))
		part = append(append([]byte(name+"\n"), part...), fragmentEnd...)
	}
	_ = o.parts.writePart(part) // parts.err keeps the error
}

// run searches, and sends the results and the rest of the page.
func (o *resultWriter) run(ctx context.Context, q *syntax.Parsed, started time.Time) {
	var state *resultState
	err := o.s.o.Search.RunSearch(ctx, o.p.request(q), o.sendFiles, func(r *search.Result, reason string) error {
		state = o.s.describeResult(*o.p, q, r, reason, o.s.o.Now().Sub(started))
		if len(o.seen) == 0 {
			o.seen = r.Repositories[:min(len(r.Repositories), 64)]
		}
		return nil
	})
	o.sendRanked()
	if !o.p.isFragment {
		o.send("", []byte("</section>\n"))
	}
	switch {
	case o.parts.err != nil:
		return // the reader has disconnected
	case err != nil:
		o.sendFailure(err)
	default:
		o.describeRest(ctx, state)
		o.sendTemplate("status", "status", state)
		o.sendTemplate("aside", "aside", state)
		o.sendTemplate("after", "after", state)
	}
	if !o.p.isFragment {
		o.sendTemplate("", "end", nil)
		o.sendTemplate("", "close", o.frame)
	}
}

// describeRest sends the summary of all files.
func (o *resultWriter) describeRest(ctx context.Context, state *resultState) {
	ids := make([]code.RepositoryID, len(o.seen))
	for i, r := range o.seen {
		ids[i] = r.ID
	}
	if f, err := o.s.o.Search.Freshness(ctx, ids); err == nil {
		state.describeFreshness(o.s.texts, f, o.s.o.Now())
	} else {
		o.s.o.Logger.WarnContext(ctx, "freshness unknown", "error", err)
	}
	if o.unsorted && !o.p.ByRank {
		p := *o.p
		p.ByRank = true
		state.RankURL = p.URL(p.Query)
	}
	if o.v.user != nil {
		state.SaveURL = o.p.saveURL()
	}
	if o.left > 0 && state.MoreURL == "" {
		p := *o.p
		p.Files = min(p.Files+defaultFiles, maxFiles)
		if p.Files > o.p.Files {
			state.MoreURL, state.More = p.URL(p.Query), o.s.texts.mustFormat("resultsShowFiles", "n", min(o.left, defaultFiles))
		}
	}
}

// sendFiles is the search.Emit of a page.
func (o *resultWriter) sendFiles(files []search.FileMatch, _ search.Stats) error {
	if len(files) == 0 {
		return o.parts.err // the search continues
	}
	o.seen = collectRepositories(o.seen, files)
	o.files.out = o.files.out[:0]
	for i := range files {
		if o.files.files >= o.p.Files {
			o.left++
			continue
		}
		o.writeFile(&files[i])
	}
	if len(o.files.out) > 0 {
		o.send("files", o.files.out)
	}
	return o.parts.err
}

// rankedFile is a rendered file with its rank.
type rankedFile struct {
	score  float64
	markup []byte
}

// writeFile writes a file, or keeps it for sendRanked.
func (o *resultWriter) writeFile(f *search.FileMatch) {
	if o.files.files > 0 && f.Score > o.lowest {
		o.unsorted = true
	}
	if o.files.files == 0 || f.Score < o.lowest {
		o.lowest = f.Score
	}
	at := len(o.files.out)
	o.files.writeFile(f)
	if o.p.ByRank {
		o.ranked = append(o.ranked, rankedFile{f.Score, bytes.Clone(o.files.out[at:])})
		o.files.out = o.files.out[:at]
	}
}

// sendRanked sends the kept files, sorted by rank.
func (o *resultWriter) sendRanked() {
	slices.SortStableFunc(o.ranked, func(a, b rankedFile) int { return cmp.Compare(b.score, a.score) })
	var out []byte
	for _, f := range o.ranked {
		out = append(out, f.markup...)
	}
	if len(out) > 0 {
		o.send("files", out)
	}
}

// sendTemplate sends a part rendered by a template.
func (o *resultWriter) sendTemplate(name, template string, data any) {
	var b bytes.Buffer
	if err := o.s.templates.byName["results"].ExecuteTemplate(&b, template, data); err != nil {
		o.s.o.Logger.ErrorContext(o.v.r.Context(), "part of a page not rendered", "part", template, "error", err)
		return
	}
	o.send(name, b.Bytes())
}

// failureRow describes a search that failed after the page had begun.
type failureRow struct {
	searchParams
	Message, RequestID string
	RetrySeconds       int
	URL                string
}

// sendFailure explains why the results end. The parts already sent stay.
func (o *resultWriter) sendFailure(err error) {
	if errors.Is(err, code.ErrNotFound) {
		err = fmt.Errorf("%w: %w", errNoContext, err)
	}
	f := o.s.explainError(o.w, o.v, err)
	row := &failureRow{searchParams: *o.p, Message: f.text, RequestID: o.w.Header().Get("X-Request-Id"), URL: o.p.URL(o.p.Query)}
	if f.status == http.StatusServiceUnavailable {
		row.RetrySeconds = 2
	}
	o.sendTemplate("failure", "failure", row)
}

// secondsToWait returns the number of seconds after which a refused request may be
// retried.
func secondsToWait(err error) (int, bool) {
	limited, ok := errors.AsType[*front.RateError](err)
	if !ok {
		return 0, false
	}
	return max(int(limited.Wait.Seconds()+0.999), 1), true
}

func setRetryAfter(h http.Header, seconds int) { h.Set("Retry-After", strconv.Itoa(seconds)) }
