package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// stampedVersion is a release that is not a tag; make build RELEASE=… sets such a
// version.
const stampedVersion = "v9.8.7"

// TestMain builds the binary once and puts it first on PATH.
func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "quarry-e2e-")
	if err != nil {
		return reportError(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	coverage, err := newBinaryCoverage(dir)
	if err != nil {
		return reportError(err)
	}
	arguments := append([]string{"build"}, coverage.buildFlags()...)
	build := exec.Command("go", append(arguments, "-ldflags=-X github.com/quarrysearch/quarry/cmd/internal/boot.release="+stampedVersion, "-o", filepath.Join(dir, "quarry"), "../quarry")...)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return reportError(fmt.Errorf("go build: %w", err))
	}
	if err := os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
		return reportError(err)
	}
	status := m.Run()
	if err := coverage.appendToProfile(); err != nil {
		return reportError(err)
	}
	return status
}

func reportError(err error) int {
	_, _ = fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}
