package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/backbone"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/bench"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/random"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/report"
)

type fanoutCommand struct {
	programFlags `embed:""`
	Corpora      string   `required:"" type:"path" help:"Where searchbench corpora built them."`
	Only         []string `help:"Import these repositories alone. Default: all that were built, but histories."`
	Work         string   `type:"path" help:"Folder for data directories. Default: fanout below the corpora."`
	Shards       []int    `default:"2,4" help:"Numbers of shards."`
	Queries      int      `default:"92" help:"Number of random queries."`
	Runs         int      `default:"5" help:"Runs of all queries, after one to warm up."`
	KafkaLibs    string   `type:"path" env:"QUARRY_KAFKA_LIBS" help:"Directory of the jars of the broker that is started."`
}

func (c *fanoutCommand) Run(ctx context.Context) error {
	opts, err := c.openPrograms()
	if err != nil {
		return err
	}
	manifest, err := corpus.ReadManifest(c.Corpora)
	if err != nil {
		return err
	}
	if c.Work == "" {
		c.Work = filepath.Join(c.Corpora, "fanout")
	}
	trees, indexed, text := map[string]string{}, map[string]string{}, int64(0)
	for _, set := range bench.Sets {
		for _, r := range manifest.Set(set) {
			if c.Only == nil || slices.Contains(c.Only, r.Name) {
				trees[r.Name], indexed[r.Name] = corpus.TreePath(c.Corpora, r.Name), corpus.GitPath(c.Corpora, r.Name)
				text += r.TextBytes
			}
		}
	}
	sample, err := random.ReadSample(trees, opts.Seed)
	if err != nil {
		return err
	}
	drawn, err := sample.Draw(opts.Seed, c.Queries)
	if err != nil {
		return err
	}
	o := backbone.FanoutOptions{
		Options: backbone.Options{Quarry: opts.Here, Corpora: c.Corpora, Work: c.Work, KafkaLibs: c.KafkaLibs, SettleTime: c.Settle, Log: logLine},
		Indexed: indexed, Shards: c.Shards, Runs: c.Runs, Zoekt: opts.Zoekt,
	}
	for _, q := range drawn {
		o.Queries, o.ZoektQueries = append(o.Queries, engine.QuarryRequest(q.Query)), append(o.ZoektQueries, engine.ZoektRequest(q.Query))
	}
	r := report.Report{Title: time.Now().UTC().Format("Fan-out of 2006-01-02"), Machine: report.Describe(), Inputs: []string{
		fmt.Sprintf("%d repositories, %.1f MB of text; %d random queries of the seed %d, %d runs after one to warm up", len(indexed), float64(text)/1e6, len(drawn), opts.Seed, c.Runs),
	}}
	table, err := backbone.MeasureFanout(ctx, o)
	if err != nil {
		return err
	}
	r.Tables = append(r.Tables, table)
	return c.writeReport(r, nil)
}
