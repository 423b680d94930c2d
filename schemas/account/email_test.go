package account_test

import (
	"testing"

	"github.com/quarrysearch/quarry/schemas/account"
)

// TestLowerEmail checks that no address becomes the address of another person.
func TestLowerEmail(t *testing.T) {
	for email, want := range map[string]string{
		"Mike@Example.ORG": "mike@example.org", "JÖRG@example.org": "jörg@example.org", "": "",
		"mi\u212Ae@example.org": "", "m\u0130ke@example.org": "", "mike@bac\u212A.example": "",
	} {
		if got := account.LowerEmail(email); got != want {
			t.Errorf("%+q: %q, want %q", email, got, want)
		}
	}
}
