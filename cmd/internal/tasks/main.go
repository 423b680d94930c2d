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
	Quick         quickTask         `cmd:"" help:"Vet and test the packages that changed, and those that import them."`
	Fuzz          fuzzTask          `cmd:"" help:"Run every fuzz test for a while."`
	UpgradeSample upgradeSampleTask `cmd:"" help:"Have an older commit write a data directory, for tests of upgrades."`
	Release       releaseTask       `cmd:"" help:"Build the archives of a release, with checksums and bills of materials, and tag it."`
	Image         imageTask         `cmd:"" help:"Build the container image, for amd64 and arm64."`
	Packages      packagesTask      `cmd:"" help:"Build packages for Debian and for systems with RPM."`
	Cover         coverTask         `cmd:"" help:"Print the coverage of each package of a profile."`
	Security      securityTask      `cmd:"" help:"Fail if the code reaches a known vulnerability that is not accepted."`
	BenchCompare  benchCompareTask  `cmd:"" help:"Compare the benchmarks of two commits."`
	Rolling       rollingTask       `cmd:"" help:"Roll a cluster from another commit to this tree, under pushes and searches."`
	BenchEngine   benchEngineTask   `cmd:"" help:"Compare the engine with that of another commit, and with zoekt; fail if it is worse."`
}

func main() {
	ctx, stop := boot.WithSignals(context.Background())
	defer stop()
	if err := execute(ctx, os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "tasks:", err)
		os.Exit(1)
	}
}

// execute runs the task that the arguments name.
func execute(ctx context.Context, args []string) error {
	parser, err := kong.New(new(cli), kong.Name("tasks"), kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		return err
	}
	command, err := parser.Parse(args)
	if err != nil {
		return err
	}
	return command.Run()
}
