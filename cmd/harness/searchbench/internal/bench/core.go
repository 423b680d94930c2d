package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
)

// These patterns select the core of zoekt-git-index in its profile: building and writing
// the shards, without the detection of languages and file kinds. They omit its garbage
// collector, which runs on other goroutines, in zoekt's favor. They also omit git and
// ctags, inside and outside of the process.
const (
	zoektCore    = `zoekt/index\.\(\*Builder\)\.buildShard`
	zoektNotCore = `DetermineLanguage|DetermineFileCategory|go-enry|zoekt/languages|go-git|go-ctags|CTagsParser`
)

// measureCores measures this build and zoekt on one set.
func (c *comparison) measureCores(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, importTimeout)
	defer cancel()
	var trees, repositories []string
	for _, r := range c.repositories() {
		if r.Set == c.CoreSet || !slices.Contains(c.Sets, c.CoreSet) {
			c.CoreSet = r.Set
			trees, repositories = append(trees, corpus.TreePath(c.Corpora, r.Name)), append(repositories, corpus.GitPath(c.Corpora, r.Name))
		}
	}
	if c.here.core, err = feedCore(ctx, trees); err != nil || c.zoekt == nil {
		return err
	}
	c.zoekt.core = CoreFigure{TextBytes: c.here.core.TextBytes}
	c.zoekt.core.CPU, err = c.profileZoekt(ctx, repositories)
	return err
}

// feedCore feeds the segment builder in a separate process of this program, because the
// builder is a package.
func feedCore(ctx context.Context, trees []string) (f CoreFigure, err error) {
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, self, append([]string{"core"}, trees...)...)
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(output, &f)
	}
	if err != nil {
		return f, fmt.Errorf("feed the segment builder: %w: %.500s", err, stderr.Bytes())
	}
	return f, nil
}

// profileZoekt profiles a separate import into a temporary folder.
func (c *comparison) profileZoekt(ctx context.Context, repositories []string) (time.Duration, error) {
	dir := filepath.Join(c.Work, "zoekt-core")
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	profile := filepath.Join(dir, "cpu.prof")
	if _, err := c.Zoekt.Profile(ctx, filepath.Join(dir, "index"), profile, repositories...); err != nil {
		return 0, err
	}
	output, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-unit=ms", "-nodefraction=0", "-edgefraction=0", "-nodecount=0",
		"-focus="+zoektCore, "-ignore="+zoektNotCore, profile).Output()
	if err != nil {
		return 0, fmt.Errorf("read zoekt's profile with go tool pprof: %w", err)
	}
	return profileTime(output)
}

// profileHead matches the line with the share of a profile that passed its filters.
var profileHead = regexp.MustCompile(`Showing nodes accounting for ([0-9.]+)ms, .* of [0-9.]+ms total`)

// profileTime parses the output of go tool pprof -top -unit=ms.
func profileTime(output []byte) (time.Duration, error) {
	m := profileHead.FindSubmatch(output)
	if m == nil {
		return 0, fmt.Errorf("go tool pprof: no totals in %.200q", output)
	}
	ms, err := strconv.ParseFloat(string(m[1]), 64)
	return time.Duration(ms * float64(time.Millisecond)), err
}
