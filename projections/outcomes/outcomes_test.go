package outcomes

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// TestDeadLetterOfATrimmedRecord checks that a dead letter whose record was trimmed can
// only be dropped.
func TestDeadLetterOfATrimmedRecord(t *testing.T) {
	err := asAPIError(fmt.Errorf("tail quarry.audit/0 from 3: %w: want 7 to 9", event.ErrOffsetOutOfRange))
	if !errors.Is(err, failure.ErrConflict) || !strings.Contains(err.Error(), "drop the dead letter") {
		t.Errorf("refused with %v", err)
	}
}

// TestFailedPushesAreNotWaiting checks that waiting and failed pushes are distinguished.
func TestFailedPushesAreNotWaiting(t *testing.T) {
	d := &ledger.Delivery{Pushes: []ledger.Push{{Outcome: ledger.OutcomeIndexed}, {Outcome: ledger.OutcomeFailed}}}
	for outcome, want := range map[string]bool{"": true, ledger.OutcomeIndexed: true, ledger.OutcomeFailed: true, ledger.OutcomeWaiting: false} {
		if got := hasOutcome(d, outcome); got != want {
			t.Errorf("selected by the outcome %q: %t, want %t", outcome, got, want)
		}
	}
}
