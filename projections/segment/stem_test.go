package segment

import "testing"

func TestStem(t *testing.T) {
	for path, want := range map[string]string{
		"kernel/sched/core.c": "core", "Makefile": "Makefile", ".gitignore": ".gitignore", "a.b/c": "c", "x/foo.pb.go": "foo.pb", "": "", "a/": "",
	} {
		if got := Stem(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	if StemHash("a/Core.c") != StemHash("CORE.h") || StemHash("core") == StemHash("cord") {
		t.Error("the hash must depend on the stem only, and ignore case")
	}
}
