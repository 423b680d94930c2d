package code

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzNamePath(f *testing.F) {
	for _, raw := range []string{"a/b", "", "/", "a//b", "../x", "./.", "caf\xe9", strings.Repeat("é/", 3000), strings.Repeat("\xff", 2000), "a\x00b"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		name, valid := NamePath(raw)
		if err := ValidatePath(name); err != nil || !utf8.ValidString(name) {
			t.Fatalf("NamePath(%.80q) = %.80q, which is no path: %v", raw, name, err)
		}
		if valid != (ValidatePath(SpellPath(raw)) == nil) || valid && name != SpellPath(raw) {
			t.Fatalf("NamePath(%.80q) = %.80q, %t", raw, name, valid)
		}
	})
}

// TestNamesOfLongPathsDiffer checks that long paths with the same beginning get different
// names.
func TestNamesOfLongPathsDiffer(t *testing.T) {
	long := strings.Repeat("d/", MaxPathBytes)
	a, _ := NamePath(long + "a")
	b, _ := NamePath(long + "b")
	if a == b || !strings.HasPrefix(a, long[:4000]) {
		t.Errorf("names %.40q… and %.40q…", a[4000:], b[4000:])
	}
}
