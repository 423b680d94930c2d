package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
)

// wordTimeout bounds the wait for one word after it was indexed or pushed, so that a
// server that never shows it does not block the other programs.
const wordTimeout = 2 * time.Minute

// AwaitWord searches for word until it is found, with a pause between two searches. brief
// leaves out the suggestions for a word that is not there yet, whose cost delays it.
func AwaitWord(ctx context.Context, s Searcher, word string, brief bool, pause time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wordTimeout)
	defer cancel()
	for {
		answer, err := s.Search(ctx, Request{Text: word, Limit: 1, Brief: brief})
		if err != nil {
			return fmt.Errorf("wait for %s: %w", word, err)
		}
		if answer.Matches > 0 {
			return nil
		}
		if err := clock.Sleep(ctx, pause); err != nil {
			return fmt.Errorf("wait for %s: %w", word, err)
		}
	}
}
