package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// indexing finds a word from the given search on.
type indexing struct{ searches, found int }

func (s *indexing) Search(context.Context, Request) (Answer, error) {
	if s.searches++; s.searches < s.found {
		return Answer{}, nil
	}
	return Answer{Matches: 1}, nil
}

func TestAwaitWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, start := &indexing{found: 4}, time.Now()
		if err := AwaitWord(t.Context(), s, "word", true, time.Second); err != nil || s.searches != 4 || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %d searches and %v, want success with the fourth one, after three pauses", err, s.searches, time.Since(start))
		}
		if err := AwaitWord(t.Context(), &indexing{found: 1 << 40}, "word", true, time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a word that never appears: %v, want %v", err, context.DeadlineExceeded)
		}
	})
}
