package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

type benchEngineTask struct {
	Ref      string   `required:"" help:"Commit or tag to compare with."`
	Corpora  string   `required:"" type:"path" help:"Directory of the corpora; what is missing is built."`
	Only     []string `default:"linux,go,caddy,prometheus,django,redis,tokio,rxjs,hibernate" help:"Repositories of the corpora to import."`
	ZoektBin string   `type:"path" env:"ZOEKT_BIN" help:"Folder of zoekt's binaries."`
	Seed     uint64   `help:"Seed of the random queries. Default: a new one."`
	Out      string   `default:".cache/bench-engine.md" type:"path" help:"Report to write."`
	Flags    []string `help:"More flags of searchbench compare." sep:" "`
}

// Run implements the task. It builds quarry of the other commit and of this tree, and has
// searchbench compare them. It fails if this tree is worse.
func (b *benchEngineTask) Run(ctx context.Context) error {
	dir, err := filepath.Abs(".cache/bench-engine")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	before := filepath.Join(dir, "before")
	if err := buildCommit(ctx, b.Ref, filepath.Join(dir, "tree"), before); err != nil {
		return err
	}
	here := filepath.Join(dir, "here")
	if _, err := runOutput(ctx, ".", "go", "build", "-trimpath", "-o", here+string(filepath.Separator), "./cmd/quarry", "./cmd/harness/searchbench"); err != nil {
		return err
	}
	searchbench, only := filepath.Join(here, "searchbench"), strings.Join(b.Only, ",")
	if err := newCommand(ctx, ".", searchbench, "corpora", "--out", b.Corpora, "--only", only).Run(); err != nil {
		return err
	}
	args := []string{
		"compare", "--corpora", b.Corpora, "--only", only, "--quarry", filepath.Join(here, "quarry"), "--before", filepath.Join(before, "quarry"), "--reference", b.Ref,
		"--work", filepath.Join(dir, "work"), "--out", b.Out,
	}
	if b.ZoektBin != "" {
		args = append(args, "--zoekt-bin", b.ZoektBin)
	}
	if b.Seed != 0 {
		args = append(args, "--seed", strconv.FormatUint(b.Seed, 10))
	}
	return newCommand(ctx, ".", searchbench, append(args, b.Flags...)...).Run()
}
