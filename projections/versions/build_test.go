package versions

import (
	"strings"
	"testing"
)

func TestMemoryWarning(t *testing.T) {
	if w := memoryWarning(1 << 20); !strings.Contains(w, "runtime.memoryLimitBytes is 1 MiB") {
		t.Errorf("two versions in a MiB: %q", w)
	}
	for _, limit := range []int64{0, 64 << 30} {
		if w := memoryWarning(limit); w != "" {
			t.Errorf("two versions of a test with a limit of %d: %q", limit, w)
		}
	}
}
