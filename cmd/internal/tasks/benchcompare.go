package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

type benchCompareTask struct {
	Ref      string `default:"main" help:"Commit to compare with."`
	Bench    string `default:"." help:"Which benchmarks, as go test -bench."`
	Packages string `default:"./..." help:"Which packages."`
	Count    int    `default:"10" help:"Runs of each benchmark."`
}

// Run implements the task.
func (b *benchCompareTask) Run(ctx context.Context) error {
	dir, err := filepath.Abs(".cache/bench-compare")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	before, after := filepath.Join(dir, "before.txt"), filepath.Join(dir, "after.txt")
	err = withCommit(ctx, b.Ref, filepath.Join(dir, "tree"), func(tree string) error { return b.measureBenchmarks(ctx, tree, before) })
	if err != nil {
		return err
	}
	if err := b.measureBenchmarks(ctx, ".", after); err != nil {
		return err
	}
	return newCommand(ctx, ".", "go", "tool", "benchstat", b.Ref+"="+before, "here="+after).Run()
}

func (b *benchCompareTask) measureBenchmarks(ctx context.Context, dir, result string) error {
	fmt.Println("== benchmarks of", dir)
	out, err := runOutput(ctx, dir, "go", "test", "-run", "^$", "-bench", b.Bench, "-benchmem", "-count", strconv.Itoa(b.Count), b.Packages)
	if err != nil {
		return err
	}
	return os.WriteFile(result, []byte(out+"\n"), 0o644)
}
