package search

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/reading"
	"github.com/quarrysearch/quarry/query/syntax"
)

// The origin of an error message is a format string: a line with some of the words
// of the message, and gaps for the values. The search looks for runs of words, as
// long as the index has them one after the other: these are rare. Of the lines that
// have such a run, those count whose string literal, with anything in its gaps, is
// a part of the message.

const (
	// probeMatches is how many lines of a run of words are looked at.
	probeMatches = 60
	// firstRun is the number of words that are looked for first.
	firstRun = 3
	// minRunBytes is the length of a run that is worth a look.
	minRunBytes = 4
	// maxFormats is how many format strings a message is put together of.
	maxFormats = 3
	// A template explains a message by itself if it has so many letters and words of it. It
	// must have this share of the letters, in percent, where the literal reading finds something.
	minFormatLetters, minFormatWords = 8, 2
	minFormatShare                   = 35
	// A literal without a gap is taken for the origin of a message with values only if it is
	// as long as this.
	minConstantLetters = 16
)

// messageReader collects the format strings of a message.
type messageReader struct {
	*pasteReader
	words   *reading.Words
	formats []reading.Template
	seen    map[string]bool // lines
	literal bool            // the literal reading finds something
}

func (p *pasteReader) tryMessage(ctx context.Context) (*Result, error) {
	m := &messageReader{pasteReader: p, words: p.paste.Words(), seen: map[string]bool{}}
	if p.paste.Sure {
		verbatim, err := p.hasMatch(ctx, &syntax.Text{Pattern: m.words.Text, Case: syntax.CaseNo})
		if err != nil || verbatim {
			return nil, err // the literal reading has that line
		}
		if m.literal, err = p.hasMatch(ctx, p.request.Query.Root); err != nil {
			return nil, err
		}
	}
	if err := m.collectFormats(ctx); err != nil {
		return nil, err
	}
	chosen := m.chooseTemplates()
	if len(chosen) == 0 {
		return nil, nil
	}
	arms := make([]syntax.Query, len(chosen))
	shown := make([]string, len(chosen))
	for i, t := range chosen {
		arms[i] = &syntax.Text{Pattern: t.Expression(), Regexp: true, Case: syntax.CaseYes}
		shown[i] = cutFilter(strings.Join(t.Literal, " … "))
	}
	root := arms[0]
	if len(arms) > 1 {
		root = &syntax.Or{Children: arms}
	}
	return p.runAttempt(ctx, &readingAttempt{root: root, description: fmt.Sprintf("a message made from %s", strings.Join(shown, " and "))})
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

// collectFormats looks for all runs of words on one line, except for one of them, which may be a value; then for
// pieces of runs, the longest that there are.
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
		covered := m.chooseTemplates()
		for _, run := range runs {
			if isCovered(run, covered) {
				continue
			}
			if err := m.collectRun(ctx, run, size); err != nil {
				return err
			}
		}
		if size < firstRun && len(m.chooseTemplates()) > 0 {
			return nil
		}
	}
	return nil
}

// maxRunsTogether is up to how many runs are looked for on one line.
const maxRunsTogether = 8

// lookAtRuns looks for lines with all runs in their order, except for one; -1 leaves out none.
func (m *messageReader) lookAtRuns(ctx context.Context, without int) error {
	var pieces []string
	for i, run := range m.words.Runs {
		if i != without {
			pieces = append(pieces, regexp.QuoteMeta(m.words.Text[run[0].Start:run[len(run)-1].End]))
		}
	}
	_, err := m.lookAt(ctx, &syntax.Text{Pattern: strings.Join(pieces, ".*"), Regexp: true, Case: syntax.CaseYes})
	return err
}

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

// collectRun looks at pieces of a run that are found, of size words at least.
func (m *messageReader) collectRun(ctx context.Context, run []reading.Range, size int) error {
	for i := 0; i+size <= len(run) || i == 0 && len(run) > 0; {
		end := min(i+size, len(run))
		found := false
		for ; end <= len(run); end++ {
			text := m.words.Text[run[i].Start:run[end-1].End]
			if len(text) < minRunBytes {
				return nil
			}
			some, err := m.lookAt(ctx, &syntax.Text{Pattern: text, Case: syntax.CaseYes})
			if err != nil {
				return err
			}
			if !some {
				break
			}
			found = true
		}
		if end > len(run) {
			return nil // the rest was found as one piece
		}
		if i++; found {
			i = max(i, end-size) // a piece that begins earlier ends here, too
		}
	}
	return nil
}

// lookAt looks for a pattern, and at the lines that have it. It reports whether there are any.
func (m *messageReader) lookAt(ctx context.Context, leaf *syntax.Text) (bool, error) {
	result, err := m.runProbe(ctx, leaf, probeMatches)
	if err != nil {
		return false, err
	}
	defer result.Release()
	for i := range result.Files {
		for _, c := range result.Files[i].Chunks {
			for line := range strings.SplitSeq(string(c.Content), "\n") {
				m.lookAtLine(strings.TrimSpace(line))
			}
		}
	}
	return result.Stats.Matches > 0, nil
}

func (m *messageReader) lookAtLine(line string) {
	if line == "" || m.seen[line] {
		return
	}
	m.seen[line] = true
	if t, ok := m.words.BestTemplate(line); ok && m.explainsMessage(&t) {
		m.formats = append(m.formats, t)
	}
}

// explainsMessage reports whether a template says enough of the message to be its origin.
func (m *messageReader) explainsMessage(t *reading.Template) bool {
	if t.Weight < minFormatLetters || t.Words < minFormatWords {
		return false
	}
	if m.paste.Sure && t.Gaps == 0 && t.Weight < minConstantLetters && t.Ends < 2 {
		return false
	}
	if m.literal {
		return t.Quoted && (t.Gaps > 0 || t.Weight >= minConstantLetters) && t.Weight*100 >= minFormatShare*m.words.Letters()
	}
	return t.Quoted || t.Weight >= minConstantLetters
}

// chooseTemplates returns the templates that explain most: the best, those that explain about as much, and
// those of other parts of the message.
func (m *messageReader) chooseTemplates() (chosen []reading.Template) {
	slices.SortStableFunc(m.formats, func(a, b reading.Template) int {
		switch {
		case a.Better(&b):
			return -1
		case b.Better(&a):
			return 1
		}
		return cmp.Compare(a.Expression(), b.Expression())
	})
	for _, t := range m.formats {
		if t.Weight*2 < m.formats[0].Weight {
			continue // its lines would hide the others
		}
		if !slices.ContainsFunc(chosen, func(o reading.Template) bool {
			return slices.Equal(t.Literal, o.Literal) || t.Overlaps(&o) && !t.About(&o)
		}) {
			if chosen = append(chosen, t); len(chosen) == maxFormats {
				break
			}
		}
	}
	return chosen
}
