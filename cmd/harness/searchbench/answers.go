package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/answers"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
)

type answersCommand struct {
	Work      string            `required:"" type:"path" help:"Folder for repositories, data and indexes; replaced."`
	Quarry    []string          `required:"" help:"Quarry binaries, each with its own server: PATH or NAME=PATH."`
	ZoektBin  string            `type:"path" env:"ZOEKT_BIN" help:"Folder of zoekt's binaries."`
	Corpora   string            `type:"path" help:"Where searchbench corpora built some: more sources."`
	Tree      map[string]string `help:"More sources: NAME=FOLDER."`
	Repos     string            `type:"path" help:"A folder of checked-out repositories, which are the only sources. Their histories give more families."`
	Only      []string          `help:"These families alone, by a part of their names."`
	Seed      []uint64          `default:"1" help:"Seeds that tasks are drawn with."`
	Tasks     int               `default:"100" help:"Tasks of each family and seed."`
	Alone     bool              `help:"Measure Quarry alone."`
	Reuse     bool              `help:"Take the data of an earlier run with the same sources and seeds."`
	Questions bool              `default:"true" negatable:"" help:"Ask the everyday questions, by command line and as an AI agent."`
	Agents    bool              `help:"Measure how many calls and tokens an AI agent needs as well."`
	Misses    bool              `help:"List the tasks that the last Quarry does not answer in the first line."`
}

// Run draws the tasks and prints a table for each seed.
func (c *answersCommand) Run(ctx context.Context) (err error) {
	if !c.Reuse {
		if err := errors.Join(os.RemoveAll(c.Work), os.MkdirAll(c.Work, 0o755)); err != nil {
			return err
		}
	}
	sources, err := c.openSources(ctx)
	if err != nil {
		return err
	}
	var drawn []answers.Family // from tags and histories
	if c.Repos != "" {
		tags, err := answers.TagFamilies(ctx, sources)
		if err != nil {
			return err
		}
		history, err := answers.HistoryFamilies(ctx, sources)
		if err != nil {
			return err
		}
		drawn = append(tags, history...)
	}
	tasks := make([][]answers.Task, len(c.Seed))
	for i, seed := range c.Seed {
		families := answers.Families(sources)
		if c.Repos == "" && c.wantsFamily(answers.FrameFamily) {
			frames, missing, err := answers.Frames(ctx, seed, filepath.Join(c.Work, "failing"), sources)
			if err != nil {
				return err
			}
			if len(missing) > 0 {
				logLine("not run: " + strings.Join(missing, ", "))
			}
			families = append(families, frames)
		}
		if families = append(families, drawn...); c.Repos == "" {
			families = append(families, answers.NameFamilies(sources)...)
		}
		families = slices.DeleteFunc(families, func(f answers.Family) bool { return !c.wantsFamily(f.Name) })
		if tasks[i], err = answers.Tasks(families, seed, c.Tasks); err != nil {
			return err
		}
	}
	if c.Repos == "" {
		programs, err := answers.OpenSource(answers.ProgramsName, filepath.Join(c.Work, "failing"))
		if err != nil {
			return err
		}
		sources = append(sources, programs)
	}
	repositories, trees := map[string]string{}, map[string]string{}
	for i, s := range sources {
		repositories[s.Name], trees[s.Name] = filepath.Join(c.Work, "git", fmt.Sprintf("%d.git", i)), s.Dir
		if c.Reuse {
			continue
		}
		if err := s.Write(ctx, repositories[s.Name]); err != nil {
			return err
		}
	}
	engines, stop, err := c.startEngines(ctx, repositories, trees)
	defer func() { err = errors.Join(err, stop()) }()
	if err != nil {
		return err
	}
	if err := c.askQuestions(ctx, engines); err != nil {
		return err
	}
	for i, seed := range c.Seed {
		fmt.Printf("\nSeed %d\n\n", seed)
		var runs []answers.Run
		for _, e := range engines {
			run, err := answers.Measure(ctx, e.name, tasks[i], e.show)
			if err != nil {
				return err
			}
			runs = append(runs, run)
		}
		fmt.Print(answers.Report(tasks[i], runs).Markdown())
		if err := c.reportAgents(ctx, engines, tasks[i]); err != nil {
			return err
		}
		if c.Misses {
			answers.Misses(os.Stderr, tasks[i], runs[len(c.Quarry)-1])
		}
	}
	return nil
}

// wantsFamily reports whether to measure a family.
func (c *answersCommand) wantsFamily(name string) bool {
	return len(c.Only) == 0 || slices.ContainsFunc(c.Only, func(part string) bool { return strings.Contains(name, part) })
}

// askQuestions prints which of the everyday questions each Quarry answers at the first
// try.
func (c *answersCommand) askQuestions(ctx context.Context, engines []lineEngine) error {
	if !c.Questions || c.Repos != "" { // they are about the installed sources
		return nil
	}
	data, err := testdata.ReadFile("testdata/questions.json")
	if err != nil {
		return err
	}
	questions, err := answers.ParseQuestions(data)
	if err != nil {
		return err
	}
	var names []string
	var right [][]bool
	for _, e := range engines {
		if e.command == nil {
			continue
		}
		names = append(names, e.name+": command line", e.name+": agent")
		byCommand, err := answers.AskCommandLine(ctx, questions, e.askCommand)
		if err != nil {
			return err
		}
		byAgent, err := answers.AskAgents(ctx, questions, e.askTool)
		if err != nil {
			return err
		}
		right = append(right, byCommand, byAgent)
	}
	fmt.Print("\nThe everyday questions, at the first try\n\n", answers.ReportQuestions(questions, names, right).Markdown())
	return nil
}

// askCommand sends a question to the command line.
func (e *lineEngine) askCommand(ctx context.Context, q *answers.Question) (string, error) {
	if q.Find {
		return e.command(ctx, "find", q.Ask)
	}
	limit := answers.Depth
	if q.Limit > 0 {
		limit = q.Limit
	}
	return e.command(ctx, "search", "-n", strconv.Itoa(limit), "--", q.Ask)
}

// askTool sends a question to a tool for AI agents.
func (e *lineEngine) askTool(ctx context.Context, q *answers.Question) (string, error) {
	switch {
	case q.Find:
		return e.call(ctx, "glob", map[string]any{"pattern": q.Ask})
	case q.Limit > 0:
		return e.call(ctx, "search", map[string]any{"query": q.Ask, "limit": q.Limit})
	}
	return e.call(ctx, "search", map[string]any{"query": q.Ask})
}

// reportAgents prints how many calls and tokens an agent needs for the answers.
func (c *answersCommand) reportAgents(ctx context.Context, engines []lineEngine, tasks []answers.Task) error {
	for _, e := range engines {
		if e.call == nil || !c.Agents {
			continue
		}
		run, err := answers.MeasureAgent(ctx, tasks, e.call)
		if err != nil {
			return err
		}
		fmt.Printf("\n%s, by an AI agent\n\n%s", e.name, answers.ReportAgent(tasks, run).Markdown())
	}
	return nil
}

func (c *answersCommand) openSources(ctx context.Context) (answers.Sources, error) {
	if c.Repos != "" {
		return answers.OpenSources(c.Repos)
	}
	sources, err := answers.InstalledSources(ctx)
	if err != nil {
		return nil, err
	}
	trees := map[string]string{}
	if c.Corpora != "" {
		manifest, err := corpus.ReadManifest(c.Corpora)
		if err != nil {
			return nil, err
		}
		for _, r := range manifest.Repositories {
			trees[r.Name] = corpus.TreePath(c.Corpora, r.Name)
		}
	}
	for name, dir := range c.Tree {
		trees[name] = dir
	}
	for name, dir := range trees {
		s, err := answers.OpenSource(name, dir)
		if err != nil {
			return nil, err
		}
		sources = slices.DeleteFunc(sources, func(o *answers.Source) bool { return o.Name == name })
		sources = append(sources, s)
	}
	slices.SortFunc(sources, func(a, b *answers.Source) int { return strings.Compare(a.Name, b.Name) })
	return sources, nil
}

// shownLimit is the limit of the matches of a search.
const shownLimit = 1000

// lineEngine is an engine that shows lines.
type lineEngine struct {
	name string
	show answers.Show
	call answers.Call // calls its tools for AI agents; nil if it has none
	// command runs its command line with arguments, and returns the output. It is nil if
	// the engine has no command line.
	command func(ctx context.Context, arguments ...string) (string, error)
}

// startEngines starts the engines. stop ends the engines that were started, even after an
// error.
func (c *answersCommand) startEngines(ctx context.Context, repositories, trees map[string]string) (all []lineEngine, stop func() error, err error) {
	var stops []func() error
	stop = func() (err error) {
		for _, s := range stops {
			err = errors.Join(err, s())
		}
		return err
	}
	for i, binary := range c.Quarry {
		name, path, found := strings.Cut(binary, "=")
		if !found {
			name, path = "Quarry", binary
		}
		program, err := engine.OpenQuarry(path, []string{"query.timeout=30s"}) // the default; readings and advice have a share of it
		if err != nil {
			return nil, stop, err
		}
		server, err := program.Serve(ctx, filepath.Join(c.Work, fmt.Sprintf("quarry-%d", i)), []string{filepath.Join(c.Work, "git")})
		if err != nil {
			return nil, stop, err
		}
		stops = append(stops, server.Stop)
		if !c.Reuse {
			if _, err := server.Index(ctx, repositories); err != nil {
				return nil, stop, err
			}
		}
		all = append(all, lineEngine{name, func(ctx context.Context, t *answers.Task) ([]answers.Line, error) {
			if t.Files {
				return server.Found(ctx, t.Text)
			}
			return server.Shown(ctx, t.Text, shownLimit, answers.LinesOfFile)
		}, server.CallTool, server.Command})
	}
	more, stopMore, err := c.startPeers(ctx, repositories, trees)
	stops = append(stops, stopMore)
	return append(all, more...), stop, err
}

// startPeers starts zoekt and ripgrep, if they are installed.
func (c *answersCommand) startPeers(ctx context.Context, repositories, trees map[string]string) (all []lineEngine, stop func() error, err error) {
	stop = func() error { return nil }
	if c.Alone {
		return nil, stop, nil
	}
	if zoekt, err := engine.OpenZoekt(c.ZoektBin); err == nil {
		index := filepath.Join(c.Work, "zoekt")
		var paths []string
		names := map[string]string{}
		for name, path := range repositories {
			paths = append(paths, path)
			names[strings.TrimSuffix(filepath.Base(path), ".git")] = name
		}
		if _, err := zoekt.Index(ctx, index, false, paths...); err != nil {
			return nil, stop, err
		}
		server, err := zoekt.Serve(ctx, index, len(paths), false)
		if err != nil {
			return nil, stop, err
		}
		stop = server.Stop
		all = append(all, lineEngine{"zoekt", func(ctx context.Context, t *answers.Task) ([]answers.Line, error) {
			query := t.Peer
			if query.Text == "" {
				query = engine.QuoteForZoekt(t.Text)
			}
			if query.Repository != "" {
				query.Repository = strings.TrimSuffix(filepath.Base(repositories[query.Repository]), ".git")
			}
			shown, err := server.Shown(ctx, query, answers.LinesOfFile)
			if t.Files {
				shown, err = server.Found(ctx, t.Text)
			}
			for i := range shown {
				shown[i].Repository = names[shown[i].Repository]
			}
			return shown, err
		}, nil, nil})
	}
	if rg, err := engine.OpenRipgrep(); err == nil && c.Repos == "" { // it does not order what it finds
		all = append(all, lineEngine{"ripgrep", func(ctx context.Context, t *answers.Task) ([]answers.Line, error) {
			if t.Files {
				return rg.Found(ctx, t.Text, trees)
			}
			return rg.Shown(ctx, t.Text, trees, answers.LinesOfFile)
		}, nil, nil})
	}
	return all, stop, nil
}
