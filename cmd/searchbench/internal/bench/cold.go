package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/machine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// coldFigure holds the times of server starts with files that are not in memory.
type coldFigure struct {
	Starts  []time.Duration `json:"starts"` // process start → first right answer
	Query   string          `json:"query"`
	Matches int             `json:"matches"`
	Dropped machine.Dropped `json:"dropped"` // the worst of all starts
}

func (f *coldFigure) medianStart() time.Duration {
	if f == nil {
		return 0
	}
	return stat.Median(f.Starts)
}

const (
	coldStarts = 3
	// coldPoll is the pause between two queries to a server that does not answer
	// completely yet.
	coldPoll = 2 * time.Millisecond
	// coldTimeout bounds one start.
	coldTimeout = 2 * time.Minute
)

var errNoRareQuery = errors.New("no rare literal of the suite is in these sets")

// A starter starts a server without waiting until it is ready.
type starter func() (server engine.Searcher, stop func() error, err error)

// coldStart repeats the following: it evicts the files below root from memory, starts a
// server, queries it until the answer is complete, and stops the server.
func (b *bench) coldStart(ctx context.Context, name, root string, q suite.Query, want int, start starter, translate translator) (coldFigure, error) {
	f := coldFigure{Query: q.Text, Matches: want}
	for range coldStarts {
		dropped, err := machine.DropFiles(root)
		if err != nil {
			return f, err
		}
		if f.Dropped.Method == "" || dropped.Resident > f.Dropped.Resident {
			f.Dropped = dropped
		}
		took, err := firstAnswer(ctx, start, translate(q), want)
		if err != nil {
			return f, err
		}
		f.Starts = append(f.Starts, took)
		b.Log("%s: cold start, first right answer after %s", name, took.Round(time.Millisecond))
	}
	return f, nil
}

// firstAnswer returns the time from the start of a server until it returns want matches.
func firstAnswer(ctx context.Context, start starter, request engine.Request, want int) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, coldTimeout)
	defer cancel()
	begin := time.Now()
	server, stop, err := start()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	ticker := time.NewTicker(coldPoll)
	defer ticker.Stop()
	var last error
	for {
		answer, askErr := server.Search(ctx, request)
		if askErr == nil && answer.Matches == want {
			return time.Since(begin), nil
		}
		last = askErr
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("wait for %d matches of %s after a cold start: %w", want, request.Text, errors.Join(ctx.Err(), last))
		case <-ticker.C:
		}
	}
}

// rareQuery returns the first rare literal that occurs in the index of a ready server,
// and its number of matches.
func (b *bench) rareQuery(ctx context.Context, s engine.Searcher, translate translator) (suite.Query, int, error) {
	for _, q := range b.Extra {
		if q.Class != suite.ClassRare {
			continue
		}
		answer, err := s.Search(ctx, translate(q))
		if err != nil || answer.Matches > 0 {
			return q, answer.Matches, err
		}
	}
	return suite.Query{}, 0, errNoRareQuery
}

func (b *bench) coldZoekt(ctx context.Context) (coldFigure, error) {
	ready, err := b.Zoekt.Serve(ctx, b.zoektIndex(), len(b.chosenRepositories()), false)
	if err != nil {
		return coldFigure{}, err
	}
	q, want, err := b.rareQuery(ctx, ready, engine.ZoektRequest)
	if err := errors.Join(err, ready.Stop()); err != nil {
		return coldFigure{}, err
	}
	return b.coldStart(ctx, "zoekt", b.zoektIndex(), q, want, func() (engine.Searcher, func() error, error) {
		s, err := b.Zoekt.Launch(b.zoektIndex(), false)
		if err != nil {
			return nil, nil, err
		}
		return s, s.Stop, nil
	}, engine.ZoektRequest)
}

func (b *bench) coldQuarry(ctx context.Context) (coldFigure, error) {
	ready, err := b.serveQuarry(ctx)
	if err != nil {
		return coldFigure{}, err
	}
	q, want, err := b.rareQuery(ctx, ready, engine.QuarryRequest)
	if err := errors.Join(err, ready.Stop()); err != nil {
		return coldFigure{}, err
	}
	return b.coldStart(ctx, "quarry", b.quarryData(), q, want, func() (engine.Searcher, func() error, error) {
		s, err := b.Quarry.Launch(b.quarryData(), b.allowedRoots())
		if err != nil {
			return nil, nil, err
		}
		return s, s.Stop, nil
	}, engine.QuarryRequest)
}
