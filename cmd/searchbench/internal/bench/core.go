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

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/core"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
)

// coreFigure holds the cost of the core of indexing: trigrams, frames, symbols.
type coreFigure struct {
	TextBytes int64         `json:"textBytes"`
	CPU       time.Duration `json:"cpu"`
	// AllCPU is the total CPU time in the profile of zoekt's run; zero for Quarry.
	AllCPU time.Duration `json:"allCpu"`
}

func (f *coreFigure) megabytesPerCPUSecond() float64 {
	if f == nil {
		return 0
	}
	return core.Figure{TextBytes: f.TextBytes, CPU: f.CPU}.MegabytesPerCPUSecond()
}

// These patterns select the core of zoekt-git-index in its profile: building and writing
// the shards, without the detection of languages and file kinds. They omit its garbage
// collector, which runs on other goroutines, in zoekt's favor. They also omit git and
// ctags, inside and outside of the process.
const (
	zoektCore    = `zoekt/index\.\(\*Builder\)\.buildShard`
	zoektNotCore = `DetermineLanguage|DetermineFileCategory|go-enry|zoekt/languages|go-git|go-ctags|CTagsParser`
)

// coreTimeout bounds one measurement of either program.
const coreTimeout = importTimeout

// coreZoekt profiles a separate import into a temporary folder.
func (b *bench) coreZoekt(ctx context.Context) (coreFigure, error) {
	ctx, cancel := context.WithTimeout(ctx, coreTimeout)
	defer cancel()
	dir := filepath.Join(b.Work, "zoekt-core")
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return coreFigure{}, err
	}
	profile := filepath.Join(dir, "cpu.prof")
	var repositories []string
	for _, r := range b.manifest.Set(b.coreSet()) {
		repositories = append(repositories, corpus.GitPath(b.Corpora, r.Name))
	}
	slices.Sort(repositories)
	if _, err := b.Zoekt.Profile(ctx, filepath.Join(dir, "index"), profile, repositories...); err != nil {
		return coreFigure{}, err
	}
	f := coreFigure{TextBytes: b.textBytes(b.coreSet())}
	output, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-unit=ms", "-nodefraction=0", "-edgefraction=0", "-nodecount=0",
		"-focus="+zoektCore, "-ignore="+zoektNotCore, profile).Output()
	if err != nil {
		return coreFigure{}, fmt.Errorf("read zoekt's profile with go tool pprof: %w", err)
	}
	f.CPU, f.AllCPU, err = profileTimes(output)
	return f, err
}

// profileHead matches the line with the share of a profile that passed its filters.
var profileHead = regexp.MustCompile(`Showing nodes accounting for ([0-9.]+)ms, .* of ([0-9.]+)ms total`)

// profileTimes parses the output of go tool pprof -top -unit=ms.
func profileTimes(output []byte) (kept, all time.Duration, err error) {
	m := profileHead.FindSubmatch(output)
	if m == nil {
		return 0, 0, fmt.Errorf("go tool pprof: no totals in %.200q", output)
	}
	var ms [2]float64
	for i := range ms {
		if ms[i], err = strconv.ParseFloat(string(m[i+1]), 64); err != nil {
			return 0, 0, fmt.Errorf("go tool pprof: %w", err)
		}
	}
	return time.Duration(ms[0] * float64(time.Millisecond)), time.Duration(ms[1] * float64(time.Millisecond)), nil
}

// coreQuarry feeds the segment builder in a separate process of this program, because the
// builder is a package.
func (b *bench) coreQuarry(ctx context.Context) (coreFigure, error) {
	ctx, cancel := context.WithTimeout(ctx, coreTimeout)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return coreFigure{}, err
	}
	args := []string{"core"}
	for _, r := range b.manifest.Set(b.coreSet()) {
		args = append(args, corpus.TreePath(b.Corpora, r.Name))
	}
	cmd := exec.CommandContext(ctx, self, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return coreFigure{}, fmt.Errorf("feed the segment builder: %w: %.500s", err, stderr.Bytes())
	}
	var f core.Figure
	if err := json.Unmarshal(output, &f); err != nil {
		return coreFigure{}, fmt.Errorf("feed the segment builder: %w", err)
	}
	return coreFigure{TextBytes: f.TextBytes, CPU: f.CPU}, nil
}

// coreSet returns Options.CoreSet or, if that set is not measured, the first set that is.
func (b *bench) coreSet() string {
	if slices.Contains(b.Sets, b.CoreSet) {
		return b.CoreSet
	}
	return b.Sets[0]
}
