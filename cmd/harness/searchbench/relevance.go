package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/relevance"
)

type relevanceCommand struct {
	Corpora   string `required:"" type:"path" help:"Where searchbench corpora built them."`
	Quarry    string `type:"path" help:"The quarry binary: a new server is started and the corpora are imported."`
	QuarryURL string `help:"URL of a running server instead, which holds the corpora under their names."`
	ZoektBin  string `type:"path" env:"ZOEKT_BIN" help:"Folder of zoekt's binaries."`
	ZoektURL  string `help:"URL of a running zoekt-webserver -rpc instead."`
	Work      string `type:"path" help:"Folder for data and indexes; replaced. Default: relevance below the corpora."`
	Matches   int    `default:"5000" help:"Matches that Quarry looks for; zoekt looks at all."`
	Display   int    `default:"500" help:"Matches that Quarry shows; zoekt shows those of 100 files."`
	Misses    bool   `help:"List the queries of the tuning half that Quarry does not put first."`
}

var errNoServer = errors.New("no server: set --quarry or --quarry-url")

func (c *relevanceCommand) Run(ctx context.Context) (err error) {
	data, err := testdata.ReadFile("testdata/relevance/queries.json")
	if err != nil {
		return err
	}
	queries, err := relevance.Parse(data)
	if err != nil {
		return err
	}
	manifest, err := corpus.ReadManifest(c.Corpora)
	if err != nil {
		return err
	}
	repositories := make(map[string]string)
	for _, r := range manifest.Repositories {
		repositories[r.Name] = corpus.GitPath(c.Corpora, r.Name)
	}
	if c.Work == "" {
		c.Work = filepath.Join(c.Corpora, "relevance")
	}
	runs, err := c.measureQuarry(ctx, queries, repositories)
	if err != nil {
		return err
	}
	more, err := c.measureZoekt(ctx, queries, repositories)
	if err != nil && !errors.Is(err, engine.ErrNoZoekt) {
		return err
	}
	runs = append(runs, more...)
	if c.Misses {
		fmt.Fprint(os.Stderr, relevance.Misses(queries, runs).Markdown())
	}
	halves, categories := relevance.Report(queries, runs)
	fmt.Printf("%s\n%s", halves.Markdown(), categories.Markdown())
	return nil
}

func (c *relevanceCommand) measureQuarry(ctx context.Context, queries []relevance.Query, repositories map[string]string) (runs []relevance.Run, err error) {
	server := engine.ConnectQuarry(c.QuarryURL)
	if c.QuarryURL == "" {
		program, err := engine.OpenQuarry(c.Quarry, nil)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errNoServer, err)
		}
		if server, err = program.ServeIndexed(ctx, filepath.Join(c.Work, "quarry"), []string{filepath.Dir(corpus.GitPath(c.Corpora, "x"))}, repositories); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, server.Stop()) }()
	}
	run, err := relevance.Measure(ctx, "Quarry", queries, func(ctx context.Context, q *relevance.Query) ([]engine.Place, error) {
		return server.Ranked(ctx, q.Text, c.Matches, c.Display)
	})
	return []relevance.Run{run}, err
}

func (c *relevanceCommand) measureZoekt(ctx context.Context, queries []relevance.Query, repositories map[string]string) (runs []relevance.Run, err error) {
	server := engine.ConnectZoekt(c.ZoektURL)
	if c.ZoektURL == "" {
		program, err := engine.OpenZoekt(c.ZoektBin)
		if err != nil {
			return nil, err
		}
		if server, err = program.ServeIndexed(ctx, filepath.Join(c.Work, "zoekt-index"), repositories); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, server.Stop()) }()
	}
	for _, bm25 := range []bool{false, true} {
		name := "zoekt"
		if bm25 {
			name = "zoekt, BM25"
		}
		run, err := relevance.Measure(ctx, name, queries, func(ctx context.Context, q *relevance.Query) ([]engine.Place, error) {
			return server.Ranked(ctx, q.Zoekt(), bm25)
		})
		if err != nil {
			return runs, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}
