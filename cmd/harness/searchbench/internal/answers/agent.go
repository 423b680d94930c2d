package answers

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/report"
)

// maxCalls bounds the calls of an agent for one task. bytesOfToken is the approximate
// size of a token of source code.
const (
	maxCalls     = 3
	bytesOfToken = 3
)

// Call calls a tool for AI agents.
type Call func(ctx context.Context, tool string, arguments map[string]any) (string, error)

// AgentRun holds the effort of an agent: for each task the number of calls until an
// answer contained the right line, or 0 if none did, and the tokens of all answers.
type AgentRun struct {
	Calls, Tokens []int
}

// These patterns match the next call that an answer suggests.
var (
	suggestedQuery = regexp.MustCompile(`(?m)^Not counted, .* \(query (.*)\):$`)
	suggestedName  = regexp.MustCompile(`(?m)^(\S+) has no match.*Did you mean (\S+?)(?: or .*)?\?$`)
	nextOffset     = regexp.MustCompile(`offset=(\d+) goes on`)
)

// MeasureAgent gives all tasks, except those for the file finder, to an agent that begins
// with the tool search and follows the suggestions of the answers: another query, or the
// next page.
func MeasureAgent(ctx context.Context, tasks []Task, call Call) (AgentRun, error) {
	run := AgentRun{Calls: make([]int, len(tasks)), Tokens: make([]int, len(tasks))}
	for i := range tasks {
		if tasks[i].Files {
			continue
		}
		arguments := map[string]any{"query": tasks[i].Text}
		for n := 1; n <= maxCalls && arguments != nil; n++ {
			answer, err := call(ctx, "search", arguments)
			if err != nil {
				return run, fmt.Errorf("agent: %q: %w", tasks[i].Text, err)
			}
			run.Tokens[i] += len(answer) / bytesOfToken
			if slices.ContainsFunc(LinesOfAnswer(answer), tasks[i].Right) {
				run.Calls[i] = n
				break
			}
			arguments = nextCall(arguments["query"].(string), answer)
		}
	}
	return run, nil
}

// nextCall returns the arguments of the call that an answer suggests, or nil if it
// suggests none.
func nextCall(text, answer string) map[string]any {
	if m := suggestedQuery.FindStringSubmatch(answer); m != nil {
		return map[string]any{"query": m[1]}
	}
	if m := suggestedName.FindStringSubmatch(answer); m != nil {
		return map[string]any{"query": strings.Replace(text, m[1], m[2], 1)}
	}
	if m := nextOffset.FindStringSubmatch(answer); m != nil {
		n, _ := strconv.Atoi(m[1])
		return map[string]any{"query": text, "offset": n}
	}
	return nil
}

var (
	answerRepository = regexp.MustCompile(`^\[(.+)\]$`)
	foundPath        = regexp.MustCompile(`^\[(.+)\] (\S+)$`)
	answerPath       = regexp.MustCompile(`^(\S.*?)(?: \([^)]*\))?:$`)
	answerLine       = regexp.MustCompile(`^(\d+)[:-] (.*)$`)
)

// LinesOfAnswer returns the lines of files in an answer to an agent.
func LinesOfAnswer(answer string) (lines []Line) {
	var at Line
	for text := range strings.SplitSeq(answer, "\n") {
		if m := answerLine.FindStringSubmatch(text); m != nil {
			l := at
			l.Number, _ = strconv.Atoi(m[1])
			l.Text = m[2]
			lines = append(lines, l)
		} else if m := foundPath.FindStringSubmatch(text); m != nil {
			lines = append(lines, Line{Repository: m[1], Path: m[2]})
		} else if m := answerRepository.FindStringSubmatch(text); m != nil {
			at.Repository = m[1]
		} else if m := answerPath.FindStringSubmatch(text); m != nil {
			at.Path = m[1]
		} else if text != "" && !strings.Contains(text, " ") {
			lines = append(lines, Line{Repository: at.Repository, Path: text}) // a file that matched by name only
		}
	}
	return lines
}

// ReportAgent returns for each family the share of tasks that the first call answers, the
// share that up to maxCalls answer, and the tokens until then.
func ReportAgent(tasks []Task, run AgentRun) report.Table {
	t := report.Table{Header: []string{"family", "tasks", "in the first call", fmt.Sprintf("in %d calls", maxCalls), "tokens, median", "90 of 100"}}
	for _, g := range groupTasks(tasks) {
		if tasks[g.tasks[0]].Files {
			continue
		}
		var tokens []int
		for _, i := range g.tasks {
			tokens = append(tokens, run.Tokens[i])
		}
		slices.Sort(tokens)
		t.Rows = append(t.Rows, []string{
			g.name, strconv.Itoa(len(g.tasks)), g.share(func(i int) bool { return run.Calls[i] == 1 }), g.share(func(i int) bool { return run.Calls[i] > 0 }),
			strconv.Itoa(tokens[len(tokens)/2]), strconv.Itoa(tokens[len(tokens)*9/10]),
		})
	}
	return t
}
