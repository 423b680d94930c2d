package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/verify"
)

type verifyCommand struct {
	Corpora string   `required:"" type:"path" help:"Where searchbench corpora built them."`
	Quarry  string   `type:"path" help:"The quarry binary: a new server is started and the corpora are imported."`
	Server  string   `help:"URL of a running server instead, which holds the corpora under their names, unchanged."`
	Sets    []string `default:"linux,go,mixed" help:"Sets to compare."`
	Work    string   `type:"path" help:"Folder for the server's data; replaced. Default: verify below the corpora."`
	Queries []string `type:"existingfile" help:"Files of queries instead of the built-in ones."`
}

var errDifferent = errors.New("answers differ from ripgrep's without a reason")

func (c *verifyCommand) Run(ctx context.Context) error {
	ripgrep, err := engine.OpenRipgrep()
	if err != nil {
		return err
	}
	manifest, err := corpus.ReadManifest(c.Corpora)
	if err != nil {
		return err
	}
	trees, repositories := make(map[string]string), make(map[string]string)
	for _, r := range manifest.Repositories {
		if slices.Contains(c.Sets, r.Set) {
			trees[r.Name], repositories[r.Name] = corpus.TreePath(c.Corpora, r.Name), corpus.GitPath(c.Corpora, r.Name)
		}
	}
	server, stop, err := c.startServer(ctx, repositories)
	if err != nil {
		return err
	}
	defer stop()
	return c.compareQueries(ctx, &verify.Checker{Quarry: server, Ripgrep: ripgrep, Trees: trees})
}

// startServer starts a server and indexes the repositories, or connects to the server
// given by flag.
func (c *verifyCommand) startServer(ctx context.Context, repositories map[string]string) (*engine.QuarryServer, func(), error) {
	if c.Server != "" {
		return engine.ConnectQuarry(c.Server), func() {}, nil
	}
	quarry, err := engine.OpenQuarry(c.Quarry, nil)
	if err != nil {
		return nil, nil, err
	}
	work := c.Work
	if work == "" {
		work = filepath.Join(c.Corpora, "verify")
	}
	server, err := quarry.ServeIndexed(ctx, filepath.Join(work, "data"), []string{filepath.Join(c.Corpora, "git")}, repositories)
	if err != nil {
		return nil, nil, err
	}
	logLine("imported %d repositories", len(repositories))
	stop := func() {
		if err := server.Stop(); err != nil {
			logLine("quarry serve did not end well: %v", err)
		}
	}
	return server, stop, nil
}

func (c *verifyCommand) compareQueries(ctx context.Context, checker *verify.Checker) error {
	queries, err := readQueries(c.Queries)
	if len(c.Queries) == 0 {
		queries, err = builtIn("queries-first.json", "queries.json", "scans.json", "verify.json")
	}
	if err != nil {
		return err
	}
	compared, failed := 0, 0
	for _, q := range queries {
		outcome, ok, err := checker.Check(ctx, q)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !ok {
			continue
		}
		compared++
		if err != nil {
			failed++
			fmt.Printf("FAILED    %-24s %v\n", q.Name, err)
			continue
		}
		fmt.Println(outcome)
		if outcome.Failed > 0 {
			failed++
		}
	}
	fmt.Printf("%d queries compared, %d different\n", compared, failed)
	if failed > 0 {
		return errDifferent
	}
	return nil
}
