package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/query/reading"
	"github.com/quarrysearch/quarry/query/syntax"
)

// Pasted text has readings beyond the literal one. They are queries like any other and
// run one after another until one has a match. That result is the answer, and a notice
// names the reading and the query for the literal one. So all counts always refer to a
// single query.

const (
	// readShare is the fraction of Options.MaxDuration that a search for one reading may
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
	points map[string]float32 // by leaf, for Request.leafPoints
	// description names the reading in the notice.
	description string
}

// pasteReader finds the reading of pasted text that has matches.
type pasteReader struct {
	s             *Searcher
	view          View
	request       Request
	paste         *reading.Paste
	emit          Emit
	probes        int
	probeDeadline time.Time // time at which probes end
}

// searchReadings answers a request with the most likely reading of its query.
func (s *Searcher) searchReadings(ctx context.Context, view View, r Request, emit Emit) (*Result, error) {
	started := time.Now()
	var probes []ProbeExplain
	if r.Explain {
		r.probes = &probes
	}
	r, err := s.resolvePredicates(ctx, view, r)
	if err != nil {
		return nil, err
	}
	prose := readProse(&r)
	result, err := s.chooseReading(ctx, view, r, prose, emit)
	if err != nil {
		return nil, err
	}
	if r.Related && prose != nil && !result.ranked {
		s.addWords(ctx, view, r, result, prose)
	}
	took := time.Since(started)
	if result.CostsHidden {
		took = 0
	}
	result.Stats.Duration = took
	if result.Explain != nil {
		result.Explain.Stages.TotalMicros, result.Explain.Probes = took.Microseconds(), probes
	}
	return result, nil
}

// chooseReading returns the answer for the reading of a query that has matches.
func (s *Searcher) chooseReading(ctx context.Context, view View, r Request, prose *reading.Prose, emit Emit) (*Result, error) {
	if n := readQualified(&r); n != nil {
		if result, err := s.tryQualified(ctx, view, r, n, emit); err != nil || result != nil {
			return result, err
		}
	}
	paste, slashed := reading.Recognize(r.Query), slashedQuery(&r)
	if prose != nil && prose.Question {
		paste = nil
	}
	if paste == nil && slashed == nil && prose == nil {
		return s.admitSearch(ctx, view, r, emit)
	}
	readFirst := paste != nil && (paste.Sure || paste.Long && slashed == nil)
	if readFirst {
		if result, err := s.tryPaste(ctx, view, r, paste, emit); err != nil || result != nil {
			return result, err
		}
	}
	first, held := r, &heldParts{emit: emit, sends: prose == nil || !prose.Sentence}
	first.isReading = true
	var emitFirst Emit
	if emit != nil {
		emitFirst = held.add
	}
	literal, err := s.admitSearch(ctx, view, first, emitFirst)
	if err != nil {
		return nil, err
	}
	var result *Result
	if literal.Stats.Matches == 0 && literal.Stopped == StopNone {
		if slashed != nil {
			result, err = s.trySlashed(ctx, view, r, slashed, emit)
		}
		if err == nil && result == nil && paste != nil && !readFirst {
			result, err = s.tryPaste(ctx, view, r, paste, emit)
		}
	}
	poor := prose != nil && isPoor(literal, prose)
	if err == nil && result == nil && poor && !prose.Sentence {
		s.addAdvice(ctx, view, r, literal)
		if slices.ContainsFunc(literal.Notices, func(n syntax.Notice) bool { return n.Code == syntax.TermFindsNothing && len(n.Suggestions) > 0 }) {
			return literal, nil // one of a few terms is misspelled
		}
	}
	if err == nil && result == nil && poor {
		result, err = s.tryProse(ctx, view, r, prose, emit)
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
		s.addAdvice(ctx, view, r, literal)
	}
	return literal, nil
}

// tryPaste returns the answer of the first reading of pasted text with a match, or nil if
// none has one.
func (s *Searcher) tryPaste(ctx context.Context, view View, r Request, paste *reading.Paste, emit Emit) (*Result, error) {
	duration := s.options.MaxDuration / probeShare
	if paste.Long && !paste.Sure {
		duration = s.options.MaxDuration / doubtShare
	}
	p := &pasteReader{s: s, view: view, request: r, paste: paste, emit: emit, probeDeadline: time.Now().Add(duration)}
	return p.tryReadings(ctx)
}

// tryReadings returns the answer of the first reading with a match, or nil if none has
// one.
func (p *pasteReader) tryReadings(ctx context.Context) (*Result, error) {
	for _, kind := range p.paste.Kinds {
		result, err := p.tryKind(ctx, kind)
		p.s.metrics.countReading(kind, result != nil)
		if err != nil || result != nil {
			return result, err
		}
	}
	return nil, nil
}

func (p *pasteReader) tryKind(ctx context.Context, kind reading.Kind) (*Result, error) {
	switch kind {
	case reading.Code:
		return p.tryCode(ctx)
	case reading.Message:
		return p.tryMessage(ctx)
	}
	return p.tryTrace(ctx)
}

func (p *pasteReader) tryCode(ctx context.Context) (*Result, error) {
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
		as := fmt.Sprintf("one of its lines of code, %s, ignoring blanks between tokens", cutFilter(line))
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
func (p *pasteReader) runAttempt(ctx context.Context, a *readingAttempt) (*Result, error) {
	if a.root == nil {
		return nil, nil
	}
	r := p.request
	r.Query = p.buildQuery(a.root)
	r.line, r.leafPoints = a.line, a.points
	result, err := p.s.searchReading(ctx, p.view, r, p.emit)
	if result == nil {
		return nil, err
	}
	literal := p.request.Query.PrintLiteral(p.request.Query.Options)
	result.insertNotice(syntax.Notice{
		Code: syntax.PastedText, At: p.paste.At, Suggestions: []string{literal},
		Message: fmt.Sprintf("Read as %s. To search for the literal text, put each term in quotes.", a.description),
	})
	return result, nil
}

// searchReading searches for a reading of a query. It returns nil if the reading has no
// match.
func (s *Searcher) searchReading(ctx context.Context, view View, r Request, emit Emit) (*Result, error) {
	r.timeLimit, r.isReading = s.options.MaxDuration/readShare, true
	result, err := s.admitSearch(ctx, view, r, emit)
	if errors.Is(err, plan.ErrPattern) {
		return nil, nil // too long
	}
	if err != nil {
		return nil, err
	}
	if result.Stats.Matches == 0 {
		result.Release()
		return nil, nil
	}
	return result, nil
}

// insertNotice puts a notice before the others.
func (r *Result) insertNotice(n syntax.Notice) {
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
func (p *pasteReader) runProbe(ctx context.Context, root syntax.Query, matches int) (*Result, error) {
	left := time.Until(p.probeDeadline)
	if p.probes == maxProbes || left <= 0 {
		return &Result{}, nil
	}
	p.probes++
	r := Request{Query: p.buildQuery(root), Matches: matches, Public: p.request.Public, timeLimit: left, WithoutAdvice: true, probes: p.request.probes}
	result, err := p.s.admitSearch(ctx, p.view, r, nil)
	if errors.Is(err, plan.ErrPattern) {
		return &Result{}, nil
	}
	return result, err
}
