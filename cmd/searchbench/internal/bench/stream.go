package bench

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// streamFigure holds the medians of a streamed query.
type streamFigure struct {
	Query        string
	First, Whole time.Duration
	Chunks       int
}

// A streamer streams answers.
type streamer interface {
	Stream(ctx context.Context, q engine.Request) (engine.Streamed, error)
}

// askStreams streams the suite's long lists of matches.
func (b *bench) askStreams(ctx context.Context, s streamer, translate translator) []streamFigure {
	var figures []streamFigure
	for _, q := range b.Queries {
		if q.Class != "limit-10k" {
			continue
		}
		f, err := askStream(ctx, s, q, translate, b.Runs)
		if err != nil {
			b.noteMissing("quarry: stream of %s: %v", q.Name, err)
			continue
		}
		b.Log("quarry: %-26s first part %9s whole %9s, %d parts", q.Name, f.First.Round(10*time.Microsecond), f.Whole.Round(10*time.Microsecond), f.Chunks)
		figures = append(figures, f)
	}
	return figures
}

func askStream(ctx context.Context, s streamer, q suite.Query, translate translator, runs int) (streamFigure, error) {
	var first, whole []time.Duration
	f := streamFigure{Query: q.Text}
	for n := range runs + 1 { // one to warm up
		answer, err := s.Stream(ctx, translate(q))
		if err != nil {
			return f, err
		}
		if n > 0 {
			first, whole, f.Chunks = append(first, answer.First), append(whole, answer.Whole), answer.Chunks
		}
	}
	f.First, f.Whole = stat.Median(first), stat.Median(whole)
	return f, nil
}
