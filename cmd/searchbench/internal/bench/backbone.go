package bench

import (
	"context"
	"path/filepath"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/backbone"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/branches"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// measureBackbone runs the steps that use their own servers and logs.
func (b *bench) measureBackbone(ctx context.Context) {
	o := b.Backbone
	o.Quarry, o.Zoekt, o.Corpora, o.Manifest, o.Log = b.Quarry, b.Zoekt, b.Corpora, b.manifest, b.Log
	o.Work, o.Reuse = filepath.Join(b.Work, "backbone"), b.Reuse
	mix := suite.Interactive(b.Queries)
	o.Queries, o.ZoektQueries = translateAll(mix, engine.QuarryRequest), translateAll(mix, engine.ZoektRequest)
	var err error
	if b.takesStep(StepFreshness) {
		if b.freshness, err = backbone.MeasureFreshness(ctx, o); err != nil {
			b.noteMissing("freshness: %v", err)
		}
		for _, line := range b.freshness.Missing {
			b.noteMissing("%s", line)
		}
	}
	if b.takesStep(StepThroughput) && ctx.Err() == nil {
		if b.throughput, err = backbone.MeasureThroughput(ctx, o); err != nil {
			b.noteMissing("throughput: %v", err)
		}
		for _, line := range b.throughput.Missing {
			b.noteMissing("%s", line)
		}
	}
}

// measureBranches runs the step branches.
func (b *bench) measureBranches(ctx context.Context) {
	if !b.takesStep(StepBranches) || ctx.Err() != nil {
		return
	}
	var err error
	b.branches, err = branches.Measure(ctx, branches.Options{
		Quarry: b.Quarry, Zoekt: b.Zoekt, Corpora: b.Corpora, Manifest: b.manifest, Work: filepath.Join(b.Work, "branches"), Rounds: b.BranchRounds, Log: b.Log,
	})
	if err != nil {
		b.noteMissing("branches: %v", err)
	}
}

func translateAll(queries []suite.Query, translate translator) []engine.Request {
	var all []engine.Request
	for _, q := range queries {
		all = append(all, translate(q))
	}
	return all
}

func (b *bench) addBackbone(r *report.Report) {
	if b.freshness != nil {
		r.Rows, r.Tables = append(r.Rows, b.freshness.Rows()...), append(r.Tables, b.freshness.Table())
	}
	if b.throughput != nil {
		r.Rows, r.Tables = append(r.Rows, b.throughput.Rows()...), append(r.Tables, b.throughput.Table())
	}
	if b.branches != nil {
		r.Rows, r.Tables = append(r.Rows, b.branches.Rows()...), append(r.Tables, b.branches.Table())
	}
}
