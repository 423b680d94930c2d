package assist

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/query/reading"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// Pasted text has readings beyond the literal one. They are queries like any other and
// run one after another until one has a match. That result is the answer, and a notice
// names the reading and the query for the literal one. So all counts always refer to a
// single query.

const (
	// readShare is the fraction of search.Options.MaxDuration that a search for one reading may
	// take: 5 s of 30 s. probeShare is the fraction for all probes, which find the pieces
	// of a paste: 2 s of 30 s. doubtShare is the fraction for the probes of a text of a
	// few plain words: 200 ms of 30 s.
	readShare  = 6
	probeShare = 15
	doubtShare = 150
	// maxProbes bounds the probes.
	maxProbes = 100
	// maxLinesApart is the maximum number of lines of pasted code that are tried
	// separately, if they are not found together.
	maxLinesApart = 3
)

// readingAttempt is a reading to try.
type readingAttempt struct {
	root   syntax.Query
	line   int                // line to show of files without matches
	points map[string]float32 // by leaf, for Request.LeafPoints
	// description names the reading in the notice.
	description string
}

// pasteReader finds the reading of pasted text that has matches.
type pasteReader struct {
	a             *answerer
	request       search.Request
	paste         *reading.Paste
	emit          search.Emit
	probes        int
	probeDeadline time.Time // time at which probes end
}

// chooseReading returns the answer for the reading of a query that has matches.
func (a *answerer) chooseReading(ctx context.Context, r search.Request, prose *reading.Prose, emit search.Emit) (*search.Result, error) {
	if n := readQualified(&r); n != nil {
		if result, err := a.tryQualified(ctx, r, n, emit); err != nil || result != nil {
			return result, err
		}
	}
	paste, foreign := recognizePaste(&r), readForeign(&r)
	if prose != nil && prose.Question {
		paste = nil
	}
	if paste == nil && foreign == nil && prose == nil {
		result, err := a.search(ctx, r, emit)
		if err != nil {
			return nil, err
		}
		a.addAdvice(ctx, r, result)
		return result, nil
	}
	readFirst := paste != nil && (paste.Sure || paste.Long && foreign == nil)
	if readFirst {
		if result, err := a.tryPaste(ctx, r, paste, prose != nil, emit); err != nil || result != nil {
			return result, err
		}
	}
	held := &heldParts{emit: emit, sends: prose == nil, untilCode: prose != nil && !prose.Sentence}
	var emitFirst search.Emit
	if emit != nil {
		emitFirst = held.add
	}
	literal, err := a.probe(ctx, r, emitFirst)
	if err != nil {
		return nil, err
	}
	var result *search.Result
	if literal.Stats.Matches == 0 && literal.Stopped == search.StopNone {
		if foreign != nil {
			result, err = a.tryForeign(ctx, r, foreign, emit)
		}
		if err == nil && result == nil && paste != nil && !readFirst {
			result, err = a.tryPaste(ctx, r, paste, prose != nil, emit)
		}
	}
	poor := prose != nil && isPoor(literal, prose)
	if err == nil && result == nil && poor && !prose.Sentence {
		a.addAdvice(ctx, r, literal)
		if slices.ContainsFunc(literal.Notices, func(n syntax.Notice) bool { return n.Code == syntax.TermFindsNothing && len(n.Suggestions) > 0 }) {
			return literal, nil // one of a few terms is misspelled
		}
	}
	if err == nil && result == nil && poor {
		result, err = a.tryProse(ctx, r, prose, emit)
	}
	if err != nil || result != nil {
		literal.Release()
		return result, err
	}
	if err := held.send(); err != nil {
		literal.Release()
		return nil, err
	}
	if !poor || prose.Sentence {
		a.addAdvice(ctx, r, literal)
	}
	return literal, nil
}

// recognizePaste returns the pasted text of a query, or nil. A line of a file may be written
// as a file filter.
func recognizePaste(r *search.Request) *reading.Paste {
	if !r.WithoutAdvice && !r.Query.Options.Regexp {
		if place, _ := r.Query.ReadPlace(); place != nil {
			return reading.Recognize(place)
		}
	}
	return reading.Recognize(r.Query)
}

// tryPaste returns the answer of the first reading of pasted text with a match, or nil if
// none has one. For a text that may also be plain words it returns nil, too, if the answer
// is a changelog and other prose: the subject of a commit, read as a message, is often there.
func (a *answerer) tryPaste(ctx context.Context, r search.Request, paste *reading.Paste, isProse bool, emit search.Emit) (*search.Result, error) {
	duration := a.shareOfTime(probeShare)
	if paste.Long && !paste.Sure {
		duration = a.shareOfTime(doubtShare)
	}
	p := &pasteReader{a: a, request: r, paste: paste, emit: emit, probeDeadline: time.Now().Add(duration)}
	if !isProse {
		return p.tryReadings(ctx)
	}
	held := &heldParts{emit: emit, untilCode: true}
	if emit != nil {
		p.emit = held.add
	}
	result, err := p.tryReadings(ctx)
	if err != nil || result == nil {
		return nil, err
	}
	if e := &result.Evidence; e.Shown <= maxPoorFiles && e.InChangelog && !e.InCode {
		result.Release()
		return nil, nil
	}
	return result, held.send()
}

// tryReadings returns the answer of the first reading with a match, or nil if none has
// one.
func (p *pasteReader) tryReadings(ctx context.Context) (*search.Result, error) {
	for _, kind := range p.paste.Kinds {
		result, err := p.tryKind(ctx, kind)
		p.a.metrics.countReading(kind, result != nil)
		if err != nil || result != nil {
			return result, err
		}
	}
	return nil, nil
}

func (p *pasteReader) tryKind(ctx context.Context, kind reading.Kind) (*search.Result, error) {
	switch kind {
	case reading.Code:
		return p.tryCode(ctx)
	case reading.Message:
		return p.tryMessage(ctx)
	}
	return p.tryTrace(ctx)
}

func (p *pasteReader) tryCode(ctx context.Context) (*search.Result, error) {
	lines := p.paste.Lines
	as := "a line of code, ignoring blanks between tokens"
	if len(lines) > 1 {
		as = "consecutive lines of code, ignoring blanks between tokens"
	}
	result, err := p.runAttempt(ctx, &readingAttempt{root: codeLine(lines), description: as})
	if err != nil || result != nil || len(lines) == 1 {
		return result, err
	}
	apart := slices.Clone(lines)
	slices.SortStableFunc(apart, func(a, b string) int { return len(b) - len(a) })
	for _, line := range apart[:min(len(apart), maxLinesApart)] {
		as := fmt.Sprintf("one of its lines of code, %s, ignoring blanks between tokens", syntax.ShowFilter(line))
		if result, err = p.runAttempt(ctx, &readingAttempt{root: codeLine([]string{line}), description: as}); err != nil || result != nil {
			return result, err
		}
	}
	return nil, nil
}

// codeLine returns the query for pasted lines, or nil if they have no tokens.
func codeLine(lines []string) syntax.Query {
	expression := reading.Expression(lines)
	if expression == "" {
		return nil
	}
	return &syntax.Text{Pattern: expression, Regexp: true, Case: syntax.CaseYes}
}

// runAttempt searches for a reading. It returns nil if the reading has no match.
func (p *pasteReader) runAttempt(ctx context.Context, t *readingAttempt) (*search.Result, error) {
	if t.root == nil {
		return nil, nil
	}
	r := p.request
	r.Query = p.buildQuery(t.root)
	r.Line, r.LeafPoints = t.line, t.points
	result, err := p.a.searchReading(ctx, r, p.emit)
	if result == nil {
		return nil, err
	}
	literal := p.request.Query.PrintLiteral(p.request.Query.Options)
	if place, filtered := p.request.Query.ReadPlace(); place != nil {
		literal = filtered
	}
	insertNotice(result, syntax.Notice{
		Code: syntax.PastedText, At: p.paste.At, Suggestions: []string{literal},
		Message: fmt.Sprintf("Read as %s. To search for the literal text, put each term in quotes.", t.description),
	})
	return result, nil
}

// searchReading searches for a reading of a query. It returns nil if the reading has no
// match.
func (a *answerer) searchReading(ctx context.Context, r search.Request, emit search.Emit) (*search.Result, error) {
	r.TimeLimit = a.shareOfTime(readShare)
	result, err := a.probe(ctx, r, emit)
	if errors.Is(err, plan.ErrPattern) {
		return nil, nil // too long
	}
	if err != nil {
		return nil, err
	}
	if result.Stats.Matches == 0 {
		a.hurried = a.hurried || result.Stopped == search.StopTimeLimit
		result.Release()
		return nil, nil
	}
	return result, nil
}

// insertNotice puts a notice before the others of a result.
func insertNotice(r *search.Result, n syntax.Notice) {
	r.Notices = slices.Insert(r.Notices, 0, n)
	r.Notices = r.Notices[:min(len(r.Notices), syntax.MaxNotices)]
}

// buildQuery adds the filters of the pasted text to a query.
func (p *pasteReader) buildQuery(root syntax.Query) *syntax.Parsed {
	if len(p.paste.Filters) > 0 {
		root = &syntax.And{Children: append(slices.Clone(p.paste.Filters), root)}
	}
	return &syntax.Parsed{Root: root, Text: root.String()}
}

// runProbe returns the files that a query finds, with at most the given number of
// matches. It returns no files if there is no time left. The caller must release the
// result.
func (p *pasteReader) runProbe(ctx context.Context, root syntax.Query, matches int) (*search.Result, error) {
	left := time.Until(p.probeDeadline)
	if p.probes == maxProbes || left <= 0 {
		p.a.hurried = p.a.hurried || left <= 0
		return &search.Result{}, nil
	}
	p.probes++
	r := search.Request{Query: p.buildQuery(root), Matches: matches, Public: p.request.Public, TimeLimit: left, WithoutAdvice: true}
	result, err := p.a.probe(ctx, r, nil)
	if errors.Is(err, plan.ErrPattern) {
		return &search.Result{}, nil
	}
	if err == nil && result.Stats.Matches == 0 && result.Stopped == search.StopTimeLimit {
		p.a.hurried = true
	}
	return result, err
}
