package front

import (
	"fmt"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/audit"
)

// TestRefusalsOfManyAddresses checks that each refused credential is recorded, up to a
// limit shared by all addresses, and that the next record counts the suppressed ones.
func TestRefusalsOfManyAddresses(t *testing.T) {
	f, now := newRefusalThrottle(), time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	refused := func(i int) *Exchange {
		return &Exchange{address: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), refusal: audit.CredentialRefused}
	}
	for i := range allRefusalRecords.Burst {
		if suppressed, wanted := f.admitRecord(refused(i), now); !wanted || suppressed != 0 {
			t.Fatalf("refusal %d: %v, %d suppressed", i, wanted, suppressed)
		}
	}
	const more = 50_000
	for i := range more {
		if _, wanted := f.admitRecord(refused(1<<20+i), now); wanted {
			t.Fatalf("refusal %d beyond the bound has a record", i)
		}
	}
	if suppressed, wanted := f.admitRecord(refused(0), now.Add(time.Second)); !wanted || suppressed != more {
		t.Errorf("a second later: %v, %d suppressed, want %d", wanted, suppressed, more)
	}
	if n := len(f.mu.suppressed); n > maxSuppressed {
		t.Errorf("%d counts", n)
	}
}
