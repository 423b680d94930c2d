package assist

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/reading"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// An error message originates from a format string: a line with some of the words of the
// message, and gaps for the values. The search looks for the longest runs of words that
// occur in the index, because these are rare. Among the lines with such a run, it keeps
// those whose string literal, with any text in its gaps, is part of the message.

const (
	// probeMatches is the number of lines with a run of words that are read.
	probeMatches = 60
	// pairMatches is the number of lines read that contain two common pieces. maxCommon
	// bounds the common pieces, and maxPairedWith the pieces that each is paired with.
	pairMatches   = 200
	maxCommon     = 12
	maxPairedWith = 5
	// firstRun is the number of words in the first lookup.
	firstRun = 3
	// minRunBytes is the minimum length of a run that is looked up.
	minRunBytes = 4
	// maxFormats is the maximum number of format strings that explain a message together.
	maxFormats = 3
	// A template explains a message if it has at least this many letters and words of the
	// message. If the literal reading finds something, the template must also have
	// minFormatShare percent of the message's letters.
	minFormatLetters, minFormatWords = 8, 2
	minFormatShare                   = 35
	// minPartsShare is the percentage of the letters of a message that the parts of its literal
	// must have.
	minPartsShare = 95
	// minLongWords is the minimum number of words in a template for a message without
	// values.
	minLongWords = 3
	// A literal is taken for a value of another literal that has up to maxValueShare
	// times fewer letters. The literal is still shown if it is on at most maxValueLines
	// lines.
	maxValueShare = 3
	maxValueLines = 10
	// A literal without a gap is accepted as the origin of a message with values only if
	// it has at least this many letters.
	minConstantLetters = 16
	// scoreOrigin are the points of a match of the format string that explains most of a
	// message.
	scoreOrigin = 2000
	// minCopyPoints is how much less a file with a copy of a format string scores than that of
	// the origin: somewhat less than the points that tests lose.
	minCopyPoints = 100
)

// messageReader collects the format strings of a message.
type messageReader struct {
	p       *pasteReader
	words   *reading.Words
	formats []reading.Template
	seen    map[string]bool // lines
	looked  map[string]int  // number of matches by pattern
	literal bool            // the literal reading finds something
	// scores are the best scores of the files with a format string: those of tests are low.
	scores map[string]float64
	// common are the pieces that occur on more lines than were read.
	common []reading.Range
}

func (p *pasteReader) tryMessage(ctx context.Context) (*search.Result, error) {
	m := &messageReader{p: p, words: p.paste.Words(), seen: map[string]bool{}, looked: map[string]int{}, scores: map[string]float64{}}
	if p.paste.Sure || p.paste.Long {
		verbatim, err := p.hasMatch(ctx, &syntax.Text{Pattern: m.words.Text, Case: syntax.CaseNo})
		if err != nil || verbatim {
			return nil, err // the literal reading finds this line
		}
		if m.literal, err = p.hasMatch(ctx, p.request.Query.Root); err != nil {
			return nil, err
		}
	}
	if !strings.Contains(p.paste.Text, " ") {
		if file, err := p.hasMatch(ctx, &syntax.File{Pattern: regexp.QuoteMeta(p.paste.Text), Case: syntax.CaseNo}); err != nil || file {
			return nil, err // the path of a file
		}
	}
	if err := m.collectFormats(ctx); err != nil {
		return nil, err
	}
	chosen := m.chooseTemplates()
	if paths := m.words.PathRuns(); len(chosen) == 0 && len(paths) > 0 && strings.Contains(p.paste.Text, " ") {
		m.words.Runs, m.common = paths, nil
		if err := m.collectFormats(ctx); err != nil {
			return nil, err
		}
		chosen = m.chooseTemplates()
	}
	if quoted := m.words.UnquotedRuns(); len(chosen) == 0 && quoted != nil { // the quotes are of the format
		m.words.Runs, m.common = quoted, nil
		if err := m.collectFormats(ctx); err != nil {
			return nil, err
		}
		chosen = m.chooseTemplates()
	}
	if len(chosen) == 0 || !m.isCompleted(chosen) {
		return nil, nil
	}
	arms := make([]syntax.Query, len(chosen))
	shown := make([]string, len(chosen))
	points := map[string]float32{}
	for i, t := range chosen {
		arms[i] = &syntax.Text{Pattern: t.Expression(), Regexp: true, Case: syntax.CaseYes}
		shown[i] = syntax.ShowFilter(strings.Join(t.Literal, " … "))
		if points[arms[i].String()] = scoreOrigin; !t.About(&chosen[0]) || m.scores[t.Expression()]+minCopyPoints < m.scores[chosen[0].Expression()] {
			points[arms[i].String()] = scoreOrigin / float32(i+1)
		}
	}
	root := arms[0]
	if len(arms) > 1 {
		root = &syntax.Or{Children: arms}
	}
	return p.runAttempt(ctx, &readingAttempt{root: root, points: points, description: fmt.Sprintf("a message made from %s", strings.Join(shown, " and "))})
}

// hasMatch reports whether a query has a match.
func (p *pasteReader) hasMatch(ctx context.Context, root syntax.Query) (bool, error) {
	result, err := p.runProbe(ctx, root, 1)
	if err != nil {
		return false, err
	}
	defer result.Release()
	return result.Stats.Matches > 0, nil
}

// collectFormats looks for lines with all runs of words, or with all but one, which may
// be a value. Then it looks for the longest pieces of runs that occur.
func (m *messageReader) collectFormats(ctx context.Context) error {
	runs := m.words.Runs
	if len(runs) > 1 && len(runs) <= maxRunsTogether {
		for left := -1; left < len(runs); left++ {
			if err := m.lookAtRuns(ctx, left); err != nil {
				return err
			}
		}
	}
	for size := firstRun; size > 0; size-- {
		if size < firstRun {
			if err := m.lookAtPairs(ctx); err != nil || m.isExplained() {
				return err
			}
		}
		covered := m.chooseTemplates()
		for _, run := range runs {
			if isCovered(run, covered) {
				continue
			}
			if err := m.collectRun(ctx, run, size); err != nil {
				return err
			}
		}
	}
	return m.lookAtPairs(ctx)
}

// isExplained reports whether a template explains more of the message than just one of
// its values.
func (m *messageReader) isExplained() bool {
	return slices.ContainsFunc(m.chooseTemplates(), func(t reading.Template) bool { return t.Gaps > 0 || t.Ends == 2 })
}

// maxRunsTogether bounds the runs that are looked up on one line.
const maxRunsTogether = 8

// lookAtRuns looks for lines with all runs in order, except the run without; -1 omits
// none.
func (m *messageReader) lookAtRuns(ctx context.Context, without int) error {
	var pieces []string
	for i, run := range m.words.Runs {
		if i != without {
			pieces = append(pieces, regexp.QuoteMeta(m.words.Text[run[0].Start:run[len(run)-1].End]))
		}
	}
	_, err := m.lookAt(ctx, &syntax.Text{Pattern: strings.Join(pieces, ".*"), Regexp: true, Case: syntax.CaseYes}, probeMatches)
	return err
}

// lookAtPairs looks for lines with two common pieces, because each alone says little, and
// for lines with one of them next to a gap.
func (m *messageReader) lookAtPairs(ctx context.Context) error {
	slices.SortFunc(m.common, func(a, b reading.Range) int { return cmp.Compare(a.Start, b.Start) })
	for i, first := range m.common {
		for _, second := range m.common[i+1 : min(len(m.common), i+1+maxPairedWith)] {
			if second.Start < first.End {
				continue
			}
			text := m.words.Text
			pattern := regexp.QuoteMeta(text[first.Start:first.End]) + ".*" + regexp.QuoteMeta(text[second.Start:second.End])
			if _, err := m.lookAt(ctx, &syntax.Text{Pattern: pattern, Regexp: true, Case: syntax.CaseYes}, pairMatches); err != nil {
				return err
			}
		}
	}
	for _, piece := range m.common {
		if m.isExplained() {
			return nil
		}
		pattern := regexp.QuoteMeta(m.words.Text[piece.Start:piece.End]) + gapFollows
		if _, err := m.lookAt(ctx, &syntax.Text{Pattern: pattern, Regexp: true, Case: syntax.CaseYes}, pairMatches); err != nil {
			return err
		}
	}
	return nil
}

// gapFollows matches the text between a piece and the following gap: punctuation and the
// start of a placeholder.
const gapFollows = "[^\\pL\\pN%{$]{0,4}[%{$]"

// isCovered reports whether templates explain a run.
func isCovered(run []reading.Range, by []reading.Template) bool {
	for _, t := range by {
		for _, c := range t.Covers {
			if c.Start <= run[0].Start && run[len(run)-1].End <= c.End {
				return true
			}
		}
	}
	return false
}

// collectRun looks up pieces of a run, of at least size words, and collects their
// templates.
func (m *messageReader) collectRun(ctx context.Context, run []reading.Range, size int) error {
	for i := 0; i+size <= len(run) || i == 0 && len(run) > 0; {
		end := min(i+size, len(run))
		found, common := false, reading.Range{}
		for ; end <= len(run); end++ {
			piece := reading.Range{Start: run[i].Start, End: run[end-1].End}
			text := m.words.Text[piece.Start:piece.End]
			if len(text) < minRunBytes {
				break
			}
			n, err := m.lookAt(ctx, &syntax.Text{Pattern: text, Case: syntax.CaseYes}, probeMatches)
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			if found = true; n > probeMatches {
				common = piece
			}
		}
		if common.End > 0 && !slices.Contains(m.common, common) && len(m.common) < maxCommon {
			m.common = append(m.common, common)
		}
		if end > len(run) {
			return nil // the rest was found in one piece
		}
		if i++; found {
			i = max(i, end-size) // a piece that begins earlier also ends here
		}
	}
	return nil
}

// lookAt looks for a pattern and reads the lines that match. It returns the number of
// matches, or most+1 if there are more than most.
func (m *messageReader) lookAt(ctx context.Context, leaf *syntax.Text, most int) (int, error) {
	if n, ok := m.looked[leaf.Pattern]; ok {
		return n, nil
	}
	result, err := m.p.runProbe(ctx, leaf, most)
	if err != nil {
		return 0, err
	}
	defer result.Release()
	m.looked[leaf.Pattern] = result.Stats.Matches
	for i := range result.Files {
		for _, c := range result.Files[i].Chunks {
			for line := range strings.SplitSeq(string(c.Content), "\n") {
				m.lookAtLine(strings.TrimSpace(line), result.Files[i].Score)
			}
		}
	}
	return result.Stats.Matches, nil
}

func (m *messageReader) lookAtLine(line string, score float64) {
	if line == "" || m.seen[line] {
		return
	}
	m.seen[line] = true
	if t, ok := m.words.BestTemplate(line); ok && m.explainsMessage(&t) {
		m.formats = append(m.formats, t)
		m.scores[t.Expression()] = max(score, m.scores[t.Expression()])
	}
}

// explainsMessage reports whether a template explains enough of the message to be its
// origin.
func (m *messageReader) explainsMessage(t *reading.Template) bool {
	if t.Weight < minFormatLetters || t.Words < minFormatWords {
		return false
	}
	if m.p.paste.Sure && t.Gaps == 0 && t.Weight < minConstantLetters && t.Ends < 2 {
		return false
	}
	if !m.p.paste.Sure && m.p.paste.Long && (t.Gaps == 0 || t.Ends < 2 || t.Words < minLongWords) {
		return t.Quoted && t.Ends > 0 && t.Words >= minLongWords // a part, if others have the rest
	}
	if m.literal {
		return t.Quoted && (t.Gaps > 0 || t.Weight >= minConstantLetters) && t.Weight*100 >= minFormatShare*m.words.Letters()
	}
	return t.Quoted || t.Weight >= minConstantLetters
}

// chooseTemplates returns the templates that explain the most: the best, those that
// explain about as much, and those for other parts of the message. The text of a cause
// comes after the template that has a gap for it. If the cause is on many lines, it is
// left out.
func (m *messageReader) chooseTemplates() (chosen []reading.Template) {
	slices.SortStableFunc(m.formats, func(a, b reading.Template) int {
		switch {
		case a.Better(&b):
			return -1
		case b.Better(&a):
			return 1
		}
		x, y := a.Expression(), b.Expression()
		return cmp.Or(cmp.Compare(m.scores[y], m.scores[x]), cmp.Compare(x, y))
	})
	var values []reading.Template
	for _, t := range m.formats {
		if i := slices.IndexFunc(m.formats, func(o reading.Template) bool {
			return t.IsValueOf(&o) && o.Ends == 2 && o.Weight*maxValueShare >= t.Weight
		}); i >= 0 {
			values = append(values, t)
			continue
		}
		if len(chosen) > 0 && t.Weight*2 < chosen[0].Weight {
			continue // its lines would hide the other lines
		}
		if chosen = m.addTemplate(chosen, &t); len(chosen) == maxFormats {
			return chosen
		}
	}
	for _, t := range values {
		if m.countLines(&t) <= maxValueLines && len(chosen) < maxFormats {
			chosen = m.addTemplate(chosen, &t)
		}
	}
	return chosen
}

// isCompleted reports whether the templates are the format of a message that is as long as a
// sentence: one has gaps and both ends, or the parts of a literal that continues on further
// lines have nearly all of it.
func (m *messageReader) isCompleted(chosen []reading.Template) bool {
	if m.p.paste.Sure || !m.p.paste.Long {
		return true
	}
	covered := 0
	for _, t := range chosen {
		if t.Gaps > 0 && t.Ends == 2 {
			return true
		}
		covered += t.Weight
	}
	return covered*100 >= minPartsShare*m.words.Letters()
}

// addTemplate adds a template, unless chosen has one for the same part of the message.
func (m *messageReader) addTemplate(chosen []reading.Template, t *reading.Template) []reading.Template {
	if slices.ContainsFunc(chosen, func(o reading.Template) bool {
		return slices.Equal(t.Literal, o.Literal) || t.Overlaps(&o) && !t.About(&o)
	}) {
		return chosen
	}
	return append(chosen, *t)
}

// countLines returns how many of the lines seen contain a template.
func (m *messageReader) countLines(t *reading.Template) (n int) {
	for i := range m.formats {
		if slices.Equal(m.formats[i].Literal, t.Literal) {
			n++
		}
	}
	return n
}
