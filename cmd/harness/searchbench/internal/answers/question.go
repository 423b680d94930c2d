package answers

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/report"
)

// Question is one of the everyday questions, with the line that answers it.
type Question struct {
	About string
	Ask   string // the text of the search
	Find  bool   // Ask contains letters of a path, for the file finder
	Limit int    // number of matches shown; 0 means Depth
	First bool   // the right line must be shown first
	// Repository is the repository of the right line. Path is an expression for its file,
	// or the path itself, Line an expression for its text and Number its number. Empty
	// fields are ignored. Says is an expression for a suggestion that answers the
	// question instead.
	Repository, Path, Line, Says string
	Number                       int
}

// ParseQuestions decodes questions and compiles their expressions.
func ParseQuestions(data []byte) (all []Question, err error) {
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("decode questions: %w", err)
	}
	for _, q := range all {
		for _, expression := range []string{q.Path, q.Line, q.Says} {
			if _, err := regexp.Compile(expression); err != nil {
				return nil, fmt.Errorf("question %q: %w", q.Ask, err)
			}
		}
		if q.Line == "" && q.Says == "" && q.Path == "" {
			return nil, fmt.Errorf("question %q has no answer", q.Ask)
		}
	}
	return all, nil
}

// Right reports whether a line answers the question.
func (q *Question) Right(l Line) bool {
	if q.Repository != "" && l.Repository != q.Repository || q.Number > 0 && l.Number != q.Number {
		return false
	}
	if q.Path != "" && l.Path != q.Path && (!strings.ContainsAny(q.Path, `(^$`) || !regexp.MustCompile(q.Path).MatchString(l.Path)) {
		return false
	}
	return regexp.MustCompile(q.Line).MatchString(l.Text)
}

// isAnswered reports whether the text of an answer, with these lines, answers the
// question.
func (q *Question) isAnswered(text string, lines []Line) bool {
	if q.Says != "" {
		return regexp.MustCompile(q.Says).MatchString(text)
	}
	if q.First {
		lines = lines[:min(len(lines), 1)]
	}
	return slices.ContainsFunc(lines, q.Right)
}

// Asker sends a question to an engine and returns its output.
type Asker func(ctx context.Context, q *Question) (string, error)

// AskCommandLine reports for each question whether the first output of the command line
// contains the answer: in Depth lines, unless the question has a limit, and the related
// files.
func AskCommandLine(ctx context.Context, questions []Question, ask Asker) ([]bool, error) {
	return askAll(ctx, questions, ask, LinesOfOutput)
}

// AskAgents reports for each question whether the first answer of a tool for AI agents
// contains the answer.
func AskAgents(ctx context.Context, questions []Question, ask Asker) ([]bool, error) {
	return askAll(ctx, questions, ask, LinesOfAnswer)
}

func askAll(ctx context.Context, questions []Question, ask Asker, lines func(string) []Line) ([]bool, error) {
	right := make([]bool, len(questions))
	for i := range questions {
		text, err := ask(ctx, &questions[i])
		if err != nil {
			return nil, fmt.Errorf("ask %q: %w", questions[i].Ask, err)
		}
		right[i] = questions[i].isAnswered(text, lines(text))
	}
	return right, nil
}

// outputLine matches a line of the output of quarry search in a pipe, or a file of quarry
// find.
var outputLine = regexp.MustCompile(`^([^\s:]+):([^:]+)(?::(\d+)[:-](.*))?$`)

// LinesOfOutput returns the lines of files in the output of quarry search.
func LinesOfOutput(output string) (lines []Line) {
	for text := range strings.SplitSeq(output, "\n") {
		m := outputLine.FindStringSubmatch(text)
		if m == nil || m[1] == "quarry" {
			continue
		}
		n, _ := strconv.Atoi(m[3])
		lines = append(lines, Line{Repository: m[1], Path: m[2], Number: n, Text: m[4]})
	}
	return lines
}

// ReportQuestions returns which questions were answered at the first try, for each named
// way of asking.
func ReportQuestions(questions []Question, names []string, right [][]bool) report.Table {
	t := report.Table{Header: append([]string{"question", "asked"}, names...)}
	sums := make([]int, len(names))
	for i, q := range questions {
		cells := []string{q.About, "`" + q.Ask + "`"}
		for k := range names {
			word := "no"
			if right[k][i] {
				word = "yes"
				sums[k]++
			}
			cells = append(cells, word)
		}
		t.Rows = append(t.Rows, cells)
	}
	all := []string{"**all**", strconv.Itoa(len(questions))}
	for _, n := range sums {
		all = append(all, fmt.Sprintf("**%d**", n))
	}
	t.Rows = append(t.Rows, all)
	return t
}
