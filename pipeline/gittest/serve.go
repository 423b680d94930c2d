package gittest

import (
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var execPath = sync.OnceValues(func() ([]byte, error) { return exec.Command("git", "--exec-path").Output() })

// HTTPHandler serves the repositories below root read-only, by their paths, as a code
// host does: with git http-backend, whose messages go to the log of the test.
func HTTPHandler(t testing.TB, root string) http.Handler {
	t.Helper()
	programs, err := execPath()
	if err != nil {
		t.Fatalf("git --exec-path, to find git http-backend: %v", err)
	}
	return &cgi.Handler{
		Path:   filepath.Join(strings.TrimSpace(string(programs)), "git-http-backend"),
		Env:    []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
		Stderr: t.Output(),
	}
}
