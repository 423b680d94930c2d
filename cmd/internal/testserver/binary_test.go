package testserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/testserver"
)

// TestBuildInRejectsAnotherBinary names files that are no binary for tests: this test,
// which was built without the tag, and a file that does not exist.
func TestBuildInRejectsAnotherBinary(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{program: "make test-binary", filepath.Join(t.TempDir(), "nowhere"): "no such file", "quarry": "absolute path"} {
		t.Setenv(testserver.BinaryVariable, given)
		if binary, err := testserver.BuildIn(t.TempDir()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s=%s: %s, %v, want an error with %q", testserver.BinaryVariable, given, binary, err, want)
		}
	}
}
