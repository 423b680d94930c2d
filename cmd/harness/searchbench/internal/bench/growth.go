package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/random"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/stat"
)

// Growth are the options of MeasureGrowth. An experiment of size zero is left out.
type Growth struct {
	Options
	// Tree is the folder of files from which everything is derived.
	Tree string
	// Copies are the sizes of the first experiment, in ascending order.
	Copies []int
	// Small is the number of small repositories, which are compared with a tenth of them.
	Small int
	// Aging is the number of pushes to one server, which is then compared with a new
	// build.
	Aging int
}

// MeasureGrowth compares servers of one build on corpora of different sizes. The ratios
// are those of the largest size to each other one.
func MeasureGrowth(ctx context.Context, g Growth) (r report.Report, err error) {
	r = report.Report{Title: "Growth", Machine: report.Describe()}
	if err := os.RemoveAll(g.Work); err != nil {
		return r, err
	}
	tree, err := corpus.ReadTree(g.Tree)
	if err != nil {
		return r, err
	}
	r.Inputs = []string{fmt.Sprintf("one tree of %d text files, %.1f MB; the seed of the random queries is %d", tree.Files(), float64(tree.Bytes())/1e6, g.Seed)}
	for _, experiment := range []struct {
		title string
		size  int
		open  opener
	}{
		{"Copies of one tree", len(g.Copies), g.openCopies}, {"Small repositories", g.Small, g.openSmall}, {"After pushes, and a new build of the result", g.Aging, g.openAged},
	} {
		if experiment.size == 0 {
			continue
		}
		tables, failure := g.measureExperiment(ctx, experiment.title, tree, experiment.open)
		r.Tables = append(r.Tables, tables...)
		if failure != nil {
			r.Missing, err = append(r.Missing, experiment.title+": "+failure.Error()), errors.Join(err, failure)
		}
	}
	return r, err
}

// opener prepares the servers of an experiment, the largest first. It returns a folder
// with the text that all of them have.
type opener func(ctx context.Context, c *comparison, tree *corpus.Tree) (text string, err error)

// measureExperiment makes one experiment.
func (g *Growth) measureExperiment(ctx context.Context, title string, tree *corpus.Tree, open opener) ([]report.Table, error) {
	o := g.Options
	o.Steps, o.Imports, o.Work = []Step{StepImport, StepCold, StepRandom}, 1, filepath.Join(g.Work, strings.Fields(title)[0])
	c := &comparison{Options: o}
	defer c.stopAll()
	text, err := open(ctx, c, tree)
	if err != nil {
		return nil, err
	}
	c.here = c.contenders[0]
	sample, err := random.ReadSample(map[string]string{"": text}, c.Seed)
	if err != nil {
		return nil, err
	}
	drawn, err := sample.Draw(c.Seed, c.Random)
	if err != nil {
		return nil, err
	}
	c.queries = map[Step][]random.Query{StepRandom: drawn}
	if err := c.takeSteps(ctx); err != nil {
		return nil, err
	}
	figures, _ := c.mainTable()
	families, _ := c.groupTable(title+": random queries", c.randomGroups())
	figures.Title = title
	for _, o := range c.contenders {
		figures.Note += fmt.Sprintf(" %s: %d repositories, %.1f MB of text.", o.name, o.countRepositories(), float64(o.textBytes())/1e6)
	}
	if p, ok := c.here.program.(*agedProgram); ok {
		figures.Note += " " + p.summary
	}
	return []report.Table{figures, families}, nil
}

// addSize adds a server with some repositories to a comparison.
func (c *comparison) addSize(name string, repositories map[string]string, textBytes int64) *contender {
	o := c.addContender(name, c.buildProgram(c.Here, []string{c.gitDir()}))
	o.sets = []importSet{{repositories: repositories, textBytes: textBytes}}
	return o
}

func (c *comparison) gitDir() string { return filepath.Join(c.Work, "git") }

// openCopies prepares servers with different numbers of copies, whose rare words differ,
// so that nothing is deduplicated.
func (g *Growth) openCopies(ctx context.Context, c *comparison, tree *corpus.Tree) (string, error) {
	return g.Tree, c.openSizes(ctx, g.Copies, "%d ×", func(n int) (string, int, *corpus.Tree) { return fmt.Sprintf("copy-%03d", n), n, tree })
}

// These are the numbers of files of a small repository.
const minSmallFiles, smallSpread = 10, 21

// openSmall prepares servers with different numbers of small repositories, cut from the
// tree. After the last file, the next copy of the tree begins.
func (g *Growth) openSmall(ctx context.Context, c *comparison, tree *corpus.Tree) (string, error) {
	cut, shared := cutter{tree: tree}, 0
	sizes := []int{max(g.Small/10, 1), g.Small}
	err := c.openSizes(ctx, sizes, "%d small", func(n int) (string, int, *corpus.Tree) {
		part, copies := cut.nextFiles(n)
		if n < sizes[0] && copies == 0 {
			shared = cut.at
		}
		return fmt.Sprintf("small-%05d", n), copies, part
	})
	text := filepath.Join(c.Work, "text")
	return text, errors.Join(err, tree.Part(0, shared).WriteFiles(text))
}

// openSizes prepares servers with the first repositories of a sequence.
func (c *comparison) openSizes(ctx context.Context, sizes []int, name string, repository func(n int) (name string, copies int, tree *corpus.Tree)) error {
	all, text := make([]map[string]string, len(sizes)), make([]int64, len(sizes))
	for n := range sizes[len(sizes)-1] {
		base, copies, tree := repository(n)
		path := filepath.Join(c.gitDir(), base+".git")
		bytes, err := tree.WriteCopy(ctx, path, copies)
		if err != nil {
			return err
		}
		for i, size := range sizes {
			if n >= size {
				continue
			}
			if all[i] == nil {
				all[i] = map[string]string{}
			}
			all[i][base] = path
			text[i] += bytes
		}
	}
	for i := len(sizes) - 1; i >= 0; i-- {
		c.addSize(fmt.Sprintf(name, sizes[i]), all[i], text[i])
	}
	return nil
}

// cutter cuts a tree into parts.
type cutter struct {
	tree       *corpus.Tree
	at, copies int
}

// nextFiles returns the files of the n-th repository and the number of their copy.
func (c *cutter) nextFiles(n int) (*corpus.Tree, int) {
	size := min(minSmallFiles+n*7%smallSpread, c.tree.Files())
	if c.at+size > c.tree.Files() {
		c.at, c.copies = 0, c.copies+1
	}
	part := c.tree.Part(c.at, c.at+size)
	c.at += size
	return part, c.copies
}

// agedProgram is a build of Quarry whose import is followed by pushes of one file each.
type agedProgram struct {
	*quarryProgram
	series  *corpus.PushSeries
	summary string // of the pushes
}

// Import imports the state before the pushes, and pushes one after the other.
func (p *agedProgram) Import(ctx context.Context, sets []importSet) (figures []importFigure, err error) {
	if err := corpus.Move(p.series.Dir, p.series.Before); err != nil {
		return nil, err
	}
	if figures, err = p.quarryProgram.Import(ctx, sets); err != nil {
		return figures, err
	}
	if err := p.Start(ctx, 0); err != nil {
		return figures, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	var times []time.Duration
	for n, commit := range p.series.Commits {
		if err := corpus.Move(p.series.Dir, commit); err != nil {
			return figures, err
		}
		start := time.Now()
		if err := p.server.Push(ctx, pushed, "refs/heads/"+corpus.Branch, p.series.Parent(n), commit); err != nil {
			return figures, err
		}
		if err := engine.AwaitWord(ctx, p.server, p.series.Words[n], true, pushPoll); err != nil {
			return figures, err
		}
		times = append(times, time.Since(start))
	}
	if _, err := p.server.Settle(ctx, p.settle); err != nil {
		return figures, err
	}
	m, err := p.server.Metrics(ctx)
	ends, changed := min(200, len(times)), float64(p.series.ChangedBytes)
	first, last := times[:ends], times[len(times)-ends:]
	p.summary = fmt.Sprintf("%d pushes, from the webhook to the new word: the first %d p50 %s, p99 %s; the last %d p50 %s, p99 %s. Merges wrote %.2f times the text of the changed files, the server %.2f times to the disk.",
		len(times), ends, report.Milliseconds(stat.Median(first)), report.Milliseconds(stat.Quantile(first, 0.99)), ends, report.Milliseconds(stat.Median(last)),
		report.Milliseconds(stat.Quantile(last, 0.99)), m["quarry_compactor_output_bytes_total"]/changed, float64(p.server.WrittenBytes())/changed)
	return figures, err
}

// openAged prepares a server that receives pushes, and one that imports their result.
func (g *Growth) openAged(ctx context.Context, c *comparison, tree *corpus.Tree) (string, error) {
	path := filepath.Join(c.gitDir(), pushed+".git")
	text, err := tree.WriteCopy(ctx, path, 0)
	if err != nil {
		return "", err
	}
	series, err := corpus.PreparePushSeries(ctx, filepath.Join(c.gitDir(), "aged.git"), path, g.Tree, g.Aging)
	if err != nil {
		return "", err
	}
	o := c.addSize("after the pushes", map[string]string{pushed: series.Dir}, text)
	o.program = &agedProgram{quarryProgram: o.program.(*quarryProgram), series: series}
	c.addSize("new build", map[string]string{pushed: series.Dir}, text)
	return g.Tree, nil
}
