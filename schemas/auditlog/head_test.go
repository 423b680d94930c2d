package auditlog

import (
	"strings"
	"testing"
)

// TestPinsAreParsed parses pins in both forms, and rejects invalid ones.
func TestPinsAreParsed(t *testing.T) {
	hash := strings.Repeat("0a", 32)
	for _, text := range []string{hash, "quarry.audit/0/17:" + hash} {
		p, err := ParsePin(text)
		if err != nil || p.String() != text {
			t.Errorf("%s: %v, %v", text, p, err)
		}
	}
	for _, text := range []string{"", "abc", hash + "00", "quarry.audit:" + hash, "quarry.audit/0/x:" + hash, strings.Repeat("x", 64)} {
		if p, err := ParsePin(text); err == nil {
			t.Errorf("%q is taken for %v", text, p)
		}
	}
}
