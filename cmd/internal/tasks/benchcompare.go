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

// Run implements the task. It checks out the other commit next to this one, as a worktree
// that it removes afterwards.
func (b *benchCompareTask) Run(ctx context.Context) error {
	dir, err := filepath.Abs(".cache/bench-compare")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tree := filepath.Join(dir, "tree")
	if _, err := runOutput(ctx, ".", "git", "worktree", "add", "--force", "--detach", tree, b.Ref); err != nil {
		return err
	}
	defer func() {
		_, _ = runOutput(context.WithoutCancel(ctx), ".", "git", "worktree", "remove", "--force", tree)
	}()
	before, after := filepath.Join(dir, "before.txt"), filepath.Join(dir, "after.txt")
	if err := b.measureBenchmarks(ctx, tree, before); err != nil {
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
