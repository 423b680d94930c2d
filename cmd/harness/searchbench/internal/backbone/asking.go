package backbone

import (
	"context"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/stat"
)

// maxOpenQuestions bounds the concurrent queries. A query above the bound is skipped and
// counted.
const maxOpenQuestions = 4

// asked holds the results of the queries that were sent during a measurement.
type asked struct {
	Times            []time.Duration
	Errors, LeftOut  int
	P50, P99         time.Duration
	Requested, Taken float64 // queries per second
}

// questionLoad sends queries at a rate until it is stopped.
type questionLoad struct {
	cancel context.CancelFunc
	done   chan struct{}
	began  time.Time
	mu     struct {
		sync.Mutex
		asked
	}
}

// startAsking sends the queries in turn, without waiting for the answers.
func (o *Options) startAsking(ctx context.Context, s engine.Searcher, questions []engine.Request) *questionLoad {
	ctx, cancel := context.WithCancel(ctx)
	a := &questionLoad{cancel: cancel, done: make(chan struct{}), began: time.Now()}
	a.mu.Requested = o.QueryRate
	go func() {
		defer close(a.done)
		if len(questions) == 0 || o.QueryRate <= 0 {
			return
		}
		a.run(ctx, s, questions, time.Duration(float64(time.Second)/o.QueryRate))
	}()
	return a
}

func (a *questionLoad) run(ctx context.Context, s engine.Searcher, questions []engine.Request, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	slots := make(chan struct{}, maxOpenQuestions)
	var open sync.WaitGroup
	defer open.Wait()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		select {
		case slots <- struct{}{}:
			open.Go(func() {
				a.askOne(ctx, s, questions[n%len(questions)])
				<-slots
			})
		default:
			a.mu.Lock()
			a.mu.LeftOut++
			a.mu.Unlock()
		}
	}
}

func (a *questionLoad) askOne(ctx context.Context, s engine.Searcher, q engine.Request) {
	answer, err := s.Search(ctx, q)
	if ctx.Err() != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.mu.Errors++
		return
	}
	a.mu.Times = append(a.mu.Times, answer.Elapsed)
}

// stop ends the load and returns the results.
func (a *questionLoad) stop() asked {
	a.cancel()
	<-a.done
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.mu.asked
	out.P50, out.P99 = stat.Quantile(out.Times, 0.5), stat.Quantile(out.Times, 0.99)
	out.Taken = float64(len(out.Times)) / time.Since(a.began).Seconds()
	return out
}
