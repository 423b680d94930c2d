package integrity

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestPaceWaitsSeldom checks that reads keep the rate, and that a pause covers many of
// them.
func TestPaceWaitsSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate, piece, pieces = 4 << 20, 16 << 10, 1024
		p := NewPace(rate, nil)
		begin, pauses := time.Now(), 0
		for range pieces {
			before := time.Now()
			if err := p.Wait(t.Context(), piece); err != nil {
				t.Fatal(err)
			}
			if time.Now().After(before) {
				pauses++
			}
		}
		want := time.Duration(piece*pieces/rate) * time.Second
		end := time.Now()
		if took := end.Sub(begin); took < want-2*burst || took > want {
			t.Errorf("%s, want %s or at most %s less", took, want, 2*burst)
		}
		if most := int(want / burst); pauses == 0 || pauses > most {
			t.Errorf("%d pauses, want 1 to %d", pauses, most)
		}
	})
}
