package bench

import (
	"context"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// stableFigure describes the answers to one limited request, sent repeatedly.
type stableFigure struct {
	// Lists is the number of different lists among the answers.
	Lists int `json:"lists"`
	// Matches and FilesRead are the largest counts among all answers, although a list has
	// no more matches than the limit.
	Matches   int `json:"matches"`
	FilesRead int `json:"filesRead"`
}

// stableRequests is how often each request is sent.
const stableRequests = 20

// stableQueries returns the suite's common words with a limit of 100.
func (b *bench) stableQueries() []suite.Query {
	var queries []suite.Query
	for _, q := range b.Queries {
		if q.Class == "common-literal" || q.Class == "limit-100" {
			queries = append(queries, q)
		}
	}
	return queries
}

// askStable sends each of these queries repeatedly.
func (b *bench) askStable(ctx context.Context, s *source) map[string]stableFigure {
	figures := make(map[string]stableFigure)
	for _, q := range b.stableQueries() {
		f, err := recallOrMeasure(s.ledger, s.name+"/stable/"+q.Text, func() (stableFigure, error) { return countLists(ctx, s, q) })
		if err != nil {
			b.noteMissing("%s: lists of %s: %v", s.name, q.Name, err)
			continue
		}
		figures[q.Name] = f
		b.Log("%s: %-26s %d different lists in %d, %d matches counted, %d files read", s.name, q.Name, f.Lists, stableRequests, f.Matches, f.FilesRead)
	}
	return figures
}

func countLists(ctx context.Context, s *source, q suite.Query) (stableFigure, error) {
	var f stableFigure
	request := s.translate(q)
	request.List = true
	lists := make(map[uint64]bool)
	for range stableRequests {
		answer, err := s.searcher.Search(ctx, request)
		if err != nil {
			return f, err
		}
		lists[answer.List] = true
		f.Matches, f.FilesRead = max(f.Matches, answer.Matches), max(f.FilesRead, answer.FilesRead)
	}
	f.Lists = len(lists)
	return f, nil
}
