package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/testserver"
)

// testsAtOnce is the default of -parallel. It is more than the processors of a small
// machine, because most tests wait for processes and intervals.
const testsAtOnce = "4"

// TestMain puts the binary first on PATH.
func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	flag.Parse()
	if err := setParallel(); err != nil {
		return reportError(err)
	}
	dir, err := os.MkdirTemp("", "quarry-e2e-")
	if err != nil {
		return reportError(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	coverage, err := newBinaryCoverage(dir)
	if err != nil {
		return reportError(err)
	}
	binary, err := testserver.BuildIn(dir, coverage.buildFlags()...)
	if err != nil {
		return reportError(err)
	}
	if err := os.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
		return reportError(err)
	}
	status := m.Run()
	if err := coverage.appendToProfile(); err != nil {
		return reportError(err)
	}
	return status
}

// setParallel sets -parallel unless it was given.
func setParallel() error {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", testsAtOnce)
}

func reportError(err error) int {
	_, _ = fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}
