package main

import (
	"context"
	"fmt"
	"os"

	"github.com/alecthomas/kong"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
)

type cli struct {
	Run           runTask           `cmd:"" help:"Serve, index two repositories, print what to try."`
	Fuzz          fuzzTask          `cmd:"" help:"Run every fuzz test for a while."`
	UpgradeSample upgradeSampleTask `cmd:"" help:"Have an older commit write a data directory, for tests of upgrades."`
	Release       releaseTask       `cmd:"" help:"Build the archives of a release, with checksums and bills of materials, and tag it."`
	BenchCompare  benchCompareTask  `cmd:"" help:"Compare the benchmarks of two commits."`
}

func main() {
	ctx, stop := boot.WithSignals(context.Background())
	defer stop()
	var c cli
	command := kong.Parse(&c, kong.Name("tasks"), kong.BindTo(ctx, (*context.Context)(nil)))
	if err := command.Run(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "tasks:", err)
		os.Exit(1)
	}
}
