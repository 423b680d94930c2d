package backbone

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
)

// counted answers each query with a number of matches, or an error if it is negative.
type counted int

var errCounted = errors.New("it does not answer")

// Search implements engine.Searcher.
func (c counted) Search(context.Context, engine.Request) (engine.Answer, error) {
	if c < 0 {
		return engine.Answer{}, errCounted
	}
	return engine.Answer{Matches: int(c), Files: 1}, nil
}

// TestScattered sends queries to several processes: counts are sums, and one failure is that of all.
func TestScattered(t *testing.T) {
	sum, err := scattered{counted(3), counted(0), counted(4)}.Search(t.Context(), engine.Request{Text: "x"})
	if err != nil || sum.Matches != 7 || sum.Files != 3 {
		t.Errorf("%+v, %v, want 7 matches in 3 files", sum, err)
	}
	if _, err := (scattered{counted(3), counted(-1)}).Search(t.Context(), engine.Request{Text: "x"}); !errors.Is(err, errCounted) {
		t.Errorf("%v, want the error of one process", err)
	}
}

// TestLateAgain counts slow answers whose query is slow in the next run as well.
func TestLateAgain(t *testing.T) {
	l := &layout{queries: make([]engine.Request, 20), times: make([]time.Duration, 40)}
	for i, took := range map[int]time.Duration{3: 8, 23: 9, 7: 7} { // query 3 in both runs, and query 7 in one
		l.times[i] = took * time.Second
	}
	if got := l.countLateAgain(); got != "2 of 2" {
		t.Errorf("%s late answers are late again, want 2 of 2 above the p95", got)
	}
	l.times[23] = 0
	l.times[8] = 9 * time.Second
	if got := l.countLateAgain(); got != "0 of 2" {
		t.Errorf("%s late answers are late again, want 0 of 2", got)
	}
}
