package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/answers"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/meaning"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type meaningCommand struct {
	Work   string            `required:"" type:"path" help:"Folder for repositories and data; replaced."`
	Quarry string            `required:"" type:"path" help:"The quarry binary."`
	Tree   map[string]string `required:"" help:"Sources: NAME=FOLDER."`
	Oracle map[string]string `required:"" help:"Language servers: LANGUAGE=COMMAND. With lines: before the command, a program that is asked line by line."`
	Cases  int               `default:"320" help:"Cases of each language, spread over the trees."`
	Seed   uint64            `default:"1" help:"Seed that cases are drawn with."`
	Ctags  string            `default:"ctags" help:"universal-ctags; empty for none."`
	Misses bool              `help:"List the cases that Quarry does not get right."`
}

// Run draws the cases and prints the table.
func (c *meaningCommand) Run(ctx context.Context) (err error) {
	var sources []*meaning.Source
	for _, name := range slices.Sorted(maps.Keys(c.Tree)) {
		dir, err := filepath.Abs(c.Tree[name])
		if err != nil {
			return err
		}
		sources = append(sources, &meaning.Source{Name: name, Dir: dir})
	}
	var cases []meaning.Case
	for _, language := range slices.Sorted(maps.Keys(c.Oracle)) {
		drawn, err := c.drawCases(ctx, sources, language)
		if err != nil {
			return err
		}
		cases = append(cases, drawn...)
	}
	server, err := c.serve(ctx, sources)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	finders := []meaning.Finder{
		{Name: "Quarry, with position", Find: func(ctx context.Context, q *meaning.Case) (meaning.Place, bool, error) {
			p := wire.FindPosition{RepoName: q.Source.Name, Path: q.At.Path, LineNumber: q.At.Line, Column: q.At.Column}
			return firstPlace(server.FindDefinitions(ctx, wire.FindSymbolsRequest{SymbolName: q.Name, Position: p}))
		}},
		{Name: "by name", Find: func(ctx context.Context, q *meaning.Case) (meaning.Place, bool, error) {
			return firstPlace(server.FindDefinitions(ctx, wire.FindSymbolsRequest{SymbolName: q.Name, RepoName: q.Source.Name}))
		}},
	}
	if c.Ctags != "" {
		tags, err := meaning.OpenTags(ctx, c.Ctags, sources)
		if err != nil {
			return err
		}
		finders = append(finders, tags)
	}
	var runs []meaning.Run
	for _, f := range finders {
		run, err := meaning.Measure(ctx, f, cases)
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	if c.Misses {
		meaning.WriteMisses(os.Stderr, cases, runs[0])
	}
	return meaning.Report(os.Stdout, cases, runs)
}

// drawCases draws the cases of a language from the trees that contain it.
func (c *meaningCommand) drawCases(ctx context.Context, sources []*meaning.Source, language string) (cases []meaning.Case, err error) {
	with := slices.DeleteFunc(slices.Clone(sources), func(s *meaning.Source) bool { return !s.Has(language) })
	for i, s := range with {
		n := (c.Cases*(i+1))/len(with) - len(cases)
		oracle, err := c.openOracle(ctx, s, language)
		if err != nil {
			return nil, err
		}
		drawn, err := meaning.Draw(ctx, s, language, oracle, c.Seed, n)
		if err = errors.Join(err, oracle.Close()); err != nil && !isExit(err) {
			return nil, err
		}
		logLine(fmt.Sprintf("%s: %d cases of %s", s.Name, len(drawn), language))
		cases = append(cases, drawn...)
	}
	return cases, nil
}

// isExit reports whether an error means only that a program was ended.
func isExit(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit)
}

func (c *meaningCommand) openOracle(ctx context.Context, s *meaning.Source, language string) (meaning.Oracle, error) {
	if program, ok := strings.CutPrefix(c.Oracle[language], "lines:"); ok {
		return meaning.OpenLines(ctx, strings.Fields(program), s.Dir)
	}
	return meaning.OpenServer(ctx, strings.Fields(c.Oracle[language]), s.Dir, language)
}

// serve starts a server that has indexed the sources.
func (c *meaningCommand) serve(ctx context.Context, sources []*meaning.Source) (*engine.QuarryServer, error) {
	if err := errors.Join(os.RemoveAll(c.Work), os.MkdirAll(filepath.Join(c.Work, "git"), 0o755)); err != nil {
		return nil, err
	}
	repositories := map[string]string{}
	for i, s := range sources {
		tree, err := answers.OpenSource(s.Name, s.Dir)
		if err != nil {
			return nil, err
		}
		repositories[s.Name] = filepath.Join(c.Work, "git", fmt.Sprintf("%d.git", i))
		if err := tree.Write(ctx, repositories[s.Name]); err != nil {
			return nil, err
		}
	}
	program, err := engine.OpenQuarry(c.Quarry, nil)
	if err != nil {
		return nil, err
	}
	server, err := program.Serve(ctx, filepath.Join(c.Work, "data"), []string{filepath.Join(c.Work, "git")})
	if err != nil {
		return nil, err
	}
	if _, err := server.Index(ctx, repositories); err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return server, nil
}

// firstPlace returns the first match of a response.
func firstPlace(found *wire.FindSymbolsResponse, err error) (meaning.Place, bool, error) {
	if err != nil || len(found.Files) == 0 {
		return meaning.Place{}, false, err
	}
	f := found.Files[0]
	return meaning.Place{Path: f.FileName, Line: f.Matches[0].Range.Start.LineNumber}, true, nil
}
