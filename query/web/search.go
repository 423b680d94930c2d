package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/corpus"
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
	SearchableRepositories(ctx context.Context) ([]*corpus.Repository, error)
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
	return s.o.Front.SearchPage(label, s.getOnly(page), s.refuseCode)
}

// getOnly returns the handler of a page about code that accepts no form.
func (s *Server) getOnly(page pageHandler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := s.codeVisit(w, r)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			s.showError(w, v, errMethod)
			return
		}
		if err := page(w, v); err != nil {
			s.showError(w, v, err)
		}
	})
}

// searchPage shows the results of a query: the head first, then files, best first, then the
// summary. Files that are found later than holdTime after the first follow as they come.
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
	if p.Within != "" { // the switch of the box; a query that does not parse keeps it
		if q, err := syntax.Parse(p.Query, p.syntaxOptions()); err == nil {
			seeOther(w, v, p.URL(addFilter(q, p.Query, search.FilterRepository(p.Within))))
			return nil
		}
	}
	q, err := s.admitQuery(w, v, &p)
	if refused, ok := errors.AsType[*syntax.Error](err); ok {
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

// admitQuery parses the query of a page and records the search. A *syntax.Error is the
// reason why the query is refused.
func (s *Server) admitQuery(w http.ResponseWriter, v *pageRequest, p *searchParams) (*syntax.Parsed, error) {
	q, err := s.o.Accounts.ParseQuery(v.principal, p.Query, p.syntaxOptions())
	if err == nil {
		err = s.checkContexts(v, q)
	}
	status := http.StatusOK
	if _, isRefused := errors.AsType[*syntax.Error](err); isRefused {
		status = http.StatusBadRequest
	} else if err != nil {
		status = failureOf(err).status
	}
	if err := s.recordSearch(w, v, p, status); err != nil {
		return nil, fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	}
	return q, err
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
		return s.templates.execute(w, "results", "refused", d.Refused)
	}
	return s.renderPage(w, v, view{template: "results", title: titleOf(p.Query), broad: true, script: resultsScript, status: http.StatusBadRequest, data: d, search: p})
}

// resultsScript is the script of results.
const resultsScript = "results.js"

// resultsData is the data of the results template before anything is found.
type resultsData struct {
	searchParams
	Refused *refusedQuery
}

// holdTime is how long files are held after the first one, so that the first screen is in
// the order of rank. A search sends its files in a burst, in an order that depends on the
// index and on the load of the machine. Most bursts are shorter.
const holdTime = 150 * time.Millisecond

// resultWriter writes one page of results. While it holds files, a timer may send them: mu
// is held by whatever writes.
type resultWriter struct {
	s     *Server
	w     http.ResponseWriter
	v     *pageRequest
	p     *searchParams
	parts *partWriter
	frame *frame

	mu       sync.Mutex
	files    fileWriter
	seen     []*corpus.Repository
	holds    bool // files are held back until they can be sorted by rank
	held     []rankedFile
	timer    *time.Timer // ends holds; nil before the first file
	found    int         // matches counted so far
	shown    int         // files sent
	left     int         // files that the page does not show
	lowest   float64     // the lowest score of the files sent so far
	unsorted bool        // a file with a higher score followed one with a lower score
}

func (s *Server) newResultWriter(w http.ResponseWriter, v *pageRequest, p *searchParams) *resultWriter {
	d := &resultsData{searchParams: *p}
	out := &resultWriter{s: s, w: w, v: v, p: p, parts: s.newPartWriter(w, v.r), files: s.newFileWriter(p.FilesOnly), holds: true}
	out.frame = s.newFrame(v, &view{title: titleOf(p.Query), broad: true, script: resultsScript, data: d, search: p})
	return out
}

// begin sends the head and the form.
func (o *resultWriter) begin() error {
	if o.p.isFragment {
		return nil
	}
	var b bytes.Buffer
	for _, part := range []string{"open", "begin"} {
		if err := o.s.templates.execute(&b, "results", part, o.frame); err != nil {
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
	defer o.stopHolding() // also if the search ends the handler: nothing writes after this function
	err := o.s.o.Search.RunSearch(ctx, o.p.request(q), o.takeFiles, func(r *search.Result, reason string) error {
		state = o.s.describeResult(*o.p, q, r, reason, o.s.o.Now().Sub(started))
		if len(o.seen) == 0 {
			o.seen = r.Repositories[:min(len(r.Repositories), 64)]
		}
		return nil
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
	}
	first := o.shown == 0
	held := o.appendFiles(nil, o.takeHeld())
	if err == nil {
		o.describeRest(ctx, q, state)
	}
	// What is above the files is sent before them if it is known, so that it moves nothing.
	if err == nil && first {
		o.sendTemplate("status", "status", state)
		o.sendTemplate("notices", "notices", state)
	}
	switch {
	case !o.p.isFragment && first:
		o.send("", []byte(o.filesStart()+string(held)+"</section>\n"))
	case !o.p.isFragment:
		o.send("", append(held, "</section>\n"...))
	case len(held) > 0:
		o.send("files", held)
	}
	switch {
	case o.parts.err != nil:
		return // the reader has disconnected
	case err != nil:
		o.sendFailure(err)
	default:
		if !first {
			o.sendTemplate("status", "status", state)
			o.sendTemplate("notices", "notices", state)
		}
		o.sendTemplate("aside", "aside", state)
		o.sendTemplate("after", "after", state)
	}
	if !o.p.isFragment {
		o.sendTemplate("", "end", nil)
		o.sendTemplate("", "close", o.frame)
	}
}

// describeRest sends the summary of all files.
func (o *resultWriter) describeRest(ctx context.Context, q *syntax.Parsed, state *resultState) {
	if !o.p.isTyping {
		o.s.addHistoryNotice(ctx, q, state)
	}
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

// takeFiles is the search.Emit of a page.
func (o *resultWriter) takeFiles(files []search.FileMatch, stats search.Stats) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.found += stats.Matches; len(files) == 0 {
		return o.parts.err // the search continues
	}
	o.files.capped = o.found > o.p.displayLimit()
	o.seen = collectRepositories(o.seen, files)
	taken := make([]rankedFile, 0, len(files))
	for i := range files {
		f := &files[i]
		o.files.out = o.files.out[:0]
		o.files.writeFile(f)
		taken = append(taken, rankedFile{search.FileMatch{Repo: f.Repo, Path: f.Path, Ref: f.Ref, Score: f.Score}, bytes.Clone(o.files.out)})
	}
	if !o.holds {
		o.sendFiles(taken)
		return o.parts.err
	}
	o.held = append(o.held, taken...)
	if o.timer == nil && !o.p.ByRank {
		o.timer = time.AfterFunc(holdTime, o.stopHolding)
	}
	return o.parts.err
}

// stopHolding sends the files held so far; further ones are sent as they come.
func (o *resultWriter) stopHolding() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.holds {
		o.sendFiles(o.takeHeld())
	}
}

// rankedFile is a rendered file with what determines its rank.
type rankedFile struct {
	file   search.FileMatch // without text
	markup []byte
}

// takeHeld stops holding files and returns those held, best first. Names decide between
// equal scores, so that the same files are always in the same order.
func (o *resultWriter) takeHeld() []rankedFile {
	held := o.held
	o.holds, o.held = false, nil
	slices.SortStableFunc(held, func(a, b rankedFile) int { return search.CompareMatches(&a.file, &b.file) })
	return held
}

// sendFiles sends files before the search has ended.
func (o *resultWriter) sendFiles(files []rankedFile) {
	var out []byte
	if o.shown == 0 && len(files) > 0 && !o.p.isFragment {
		out = append(out, o.filesStart()...)
	}
	if out = o.appendFiles(out, files); len(out) > 0 {
		o.send("files", out)
	}
}

// appendFiles appends files in their order, up to the number that the page shows.
func (o *resultWriter) appendFiles(out []byte, files []rankedFile) []byte {
	for _, f := range files {
		if o.shown >= o.p.Files {
			o.left++
			continue
		}
		o.unsorted = o.unsorted || o.shown > 0 && f.file.Score > o.lowest
		if o.shown == 0 || f.file.Score < o.lowest {
			o.lowest = f.file.Score
		}
		o.shown++
		out = append(out, f.markup...)
	}
	return out
}

// filesStart opens the element of the files. If the answer is known to be cut before its
// notice can be sent, the place of the notice is reserved.
func (o *resultWriter) filesStart() string {
	class := "hits"
	if o.files.capped {
		class += " capped"
	}
	return `<section class="` + class + `" id="files" aria-label="` + o.s.texts.mustFormat("resultsLabel") + `" tabindex="-1">` + "\n"
}

// sendTemplate sends a part rendered by a template.
func (o *resultWriter) sendTemplate(name, template string, data any) {
	var b bytes.Buffer
	if err := o.s.templates.execute(&b, "results", template, data); err != nil {
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

// titleOf returns the title of the results of a query, which may not be valid UTF-8.
func titleOf(query string) string { return cutText(strings.ToValidUTF8(query, "\uFFFD"), 80) }
