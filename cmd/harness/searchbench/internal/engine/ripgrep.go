package engine

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
)

// Ripgrep searches checkouts with rg.
type Ripgrep struct{ Path string }

// OpenRipgrep finds rg (Debian package ripgrep).
func OpenRipgrep() (*Ripgrep, error) {
	path, err := exec.LookPath("rg")
	if err != nil {
		return nil, fmt.Errorf("ripgrep is not available (Debian package ripgrep): %w", err)
	}
	return &Ripgrep{Path: path}, nil
}

// Place is a file of a repository.
type Place struct{ Repository, Path string }

// Count counts the matches of a query in every file of the trees (repository name →
// checkout), which it searches as text up to the size that engines index. It does not
// apply the query's filters on files. Without trees it returns nothing.
func (r *Ripgrep) Count(ctx context.Context, p suite.Plain, trees map[string]string) (map[Place]int, time.Duration, error) {
	if len(trees) == 0 {
		return map[Place]int{}, 0, nil // rg without a path would search the working directory
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	args := r.buildArgs(p)
	for _, tree := range trees {
		args = append(args, tree)
	}
	cmd := exec.CommandContext(ctx, r.Path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	elapsed := time.Since(start)
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) { // 1 means no match
		return nil, elapsed, fmt.Errorf("rg %s: %w: %.500s", strings.Join(p.Patterns, " "), err, stderr.Bytes())
	}
	counts, err := parseCounts(stdout.Bytes(), trees)
	return counts, elapsed, err
}

func (r *Ripgrep) buildArgs(p suite.Plain) []string {
	args := []string{
		"--no-config", "--no-ignore", "--hidden", "--text", "--null", "--with-filename", "--count-matches", "--max-filesize", "2M", "--no-messages",
	}
	if !p.CaseSensitive {
		args = append(args, "--ignore-case")
	}
	for _, pattern := range p.Patterns {
		if strings.Contains(pattern, "$") {
			args = append(args, "--crlf")
		}
		if suite.Multiline(pattern) {
			args = append(args, "--multiline")
		}
		args = append(args, "--regexp", suite.Ripgrep(pattern))
	}
	return append(args, "--")
}

// parseCounts parses lines of the form PATH NUL COUNT.
func parseCounts(output []byte, trees map[string]string) (map[Place]int, error) {
	counts := make(map[Place]int)
	scanner := bufio.NewScanner(bytes.NewReader(output))
	for scanner.Scan() {
		path, count, ok := strings.Cut(scanner.Text(), "\x00")
		n, err := strconv.Atoi(count)
		if !ok || err != nil {
			return nil, fmt.Errorf("rg: cannot read its line %q", scanner.Text())
		}
		place, ok := placeOf(path, trees)
		if !ok {
			return nil, fmt.Errorf("rg: %s is in none of the trees", path)
		}
		counts[place] = n
	}
	return counts, scanner.Err()
}

func placeOf(path string, trees map[string]string) (Place, bool) {
	for name, tree := range trees {
		if rest, ok := strings.CutPrefix(path, tree+"/"); ok {
			return Place{Repository: name, Path: rest}, true
		}
	}
	return Place{}, false
}
