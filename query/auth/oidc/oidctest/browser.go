package oidctest

import (
	"os"
	"os/exec"
	"testing"
)

// Browser returns the path of a browser, or skips the test, as it does with -short.
func Browser(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("walks through pages in a browser")
	}
	for _, name := range []string{os.Getenv("QUARRY_BROWSER"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
		t.Fatal("chromium is needed")
	}
	t.Skip("chromium is needed; QUARRY_BROWSER names another of its kind")
	return ""
}
