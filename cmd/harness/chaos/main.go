package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/quarrysearch/quarry/cmd/harness/chaos/internal/fleet"
	"github.com/quarrysearch/quarry/cmd/harness/chaos/internal/rounds"
)

type cli struct {
	Quarry    string        `required:"" type:"existingfile" help:"The binary, built with -tags quarrychaos."`
	Work      string        `required:"" type:"path" help:"Folder for everything; a folder for each run is made in it."`
	Rounds    int           `default:"200" help:"Rounds over all set-ups."`
	Seed      uint64        `help:"Seed of the faults and pushes. Default: from the clock."`
	Setups    []fleet.Setup `default:"embedded,kafka1,kafka3,bucket,sharded" help:"Set-ups: embedded, kafka1, kafka3, bucket, sharded."`
	Faults    []string      `help:"Only these faults."`
	KafkaLibs string        `type:"path" env:"QUARRY_KAFKA_LIBS" help:"Directory of the brokers' jars."`
	Out       string        `type:"path" help:"Write the figures to this Markdown file as well."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	k := kong.Parse(&c, kong.Name("chaos"), kong.Description("Breaks a running Quarry and looks whether anything was lost."), kong.UsageOnError(),
		kong.BindTo(ctx, (*context.Context)(nil)))
	k.FatalIfErrorf(k.Run())
}

// Run implements the command. The directories of a run that failed stay.
func (c *cli) Run(ctx context.Context) error {
	if c.Seed == 0 {
		c.Seed = uint64(time.Now().UnixNano())
	}
	quarry, err := filepath.Abs(c.Quarry)
	if err != nil {
		return err
	}
	fmt.Printf("seed %d\n", c.Seed)
	var tallies []*rounds.Tally
	for i, setup := range c.Setups {
		share := (c.Rounds*(i+1))/len(c.Setups) - (c.Rounds*i)/len(c.Setups)
		dir := filepath.Join(c.Work, fmt.Sprintf("%s-%d", setup, c.Seed))
		tally, err := rounds.Run(ctx, rounds.Options{
			Fleet: fleet.Options{Quarry: quarry, Setup: setup, Dir: dir, KafkaLibs: c.KafkaLibs}, Rounds: share, Seed: c.Seed, Only: c.Faults,
			Log: func(format string, args ...any) {
				fmt.Printf(time.Now().UTC().Format("15:04:05 ")+format+"\n", args...)
			},
		})
		tallies = append(tallies, tally)
		if err != nil {
			fmt.Print(rounds.Markdown(tallies))
			return fmt.Errorf("%w\nrepeat with: make chaos SEED=%d ROUNDS=%d CHAOSFLAGS='--setups %s'; what is left lies in %s", err, c.Seed, share, setup, dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	text := rounds.Markdown(tallies)
	fmt.Print("\n" + text)
	if c.Out != "" {
		return os.WriteFile(c.Out, []byte(text), 0o644)
	}
	return nil
}
