package e2e

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binaryCoverage adds the coverage of the binary to the coverage profile of these tests,
// if they write one. A killed process leaves no counters.
type binaryCoverage struct {
	profile  string // profile that the tests write; empty if they write none
	counters string // directory of the counters of processes
}

// newBinaryCoverage returns the coverage of a binary whose counters are written below
// dir. The flags must have been parsed: go test passes the path of the profile as a flag.
func newBinaryCoverage(dir string) (*binaryCoverage, error) {
	c := &binaryCoverage{profile: flag.Lookup("test.coverprofile").Value.String(), counters: filepath.Join(dir, "counters")}
	if c.profile == "" {
		return c, nil
	}
	if err := os.Mkdir(c.counters, 0o755); err != nil {
		return nil, err
	}
	return c, os.Setenv("GOCOVERDIR", c.counters)
}

// buildFlags returns additional flags for go build.
func (c *binaryCoverage) buildFlags() []string {
	if c.profile == "" {
		return nil
	}
	return []string{"-cover", "-covermode=" + testing.CoverMode(), "-coverpkg=github.com/quarrysearch/quarry/..."}
}

// appendToProfile appends the counters of all processes to the profile after the tests
// have written it.
func (c *binaryCoverage) appendToProfile() error {
	if c.profile == "" {
		return nil
	}
	text := filepath.Join(c.counters, "profile")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i="+c.counters, "-o="+text).CombinedOutput(); err != nil {
		return fmt.Errorf("go tool covdata: %w: %s", err, out)
	}
	lines, err := os.ReadFile(text)
	if err != nil {
		return err
	}
	_, blocks, _ := bytes.Cut(lines, []byte("\n")) // the first line is the mode, which the profile already has
	f, err := os.OpenFile(c.profile, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.Write(blocks); err != nil {
		_ = f.Close() // the write error is returned
		return err
	}
	return f.Close()
}
