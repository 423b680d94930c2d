package account

import (
	"strings"
	"testing"
)

// TestShortenHostUser checks that IDs which fit into an event stay unchanged, and that
// the digests of longer ones differ.
func TestShortenHostUser(t *testing.T) {
	longest := strings.Repeat("7", MaxHostUserBytes)
	for _, id := range []string{"", "1042", longest} {
		if got := ShortenHostUser(id); got != id {
			t.Errorf("%q became %q", id, got)
		}
	}
	a, b := ShortenHostUser(longest+"1"), ShortenHostUser(longest+"2")
	if a == b || len(a) != MaxHostUserBytes || len(b) != MaxHostUserBytes {
		t.Errorf("long IDs became %q and %q, want two of %d bytes", a, b, MaxHostUserBytes)
	}
}
