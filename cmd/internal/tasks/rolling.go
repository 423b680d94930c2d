package main

import (
	"context"
	"os"
	"path/filepath"
)

type rollingTask struct {
	Ref string `required:"" help:"Commit or tag to upgrade from."`
}

// Run implements the task. It builds quarry of the other commit, and has the tests roll a cluster
// from it to this tree.
func (r *rollingTask) Run(ctx context.Context) error {
	dir, err := filepath.Abs(".cache/rolling")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := buildCommit(ctx, r.Ref, filepath.Join(dir, "tree"), dir); err != nil {
		return err
	}
	test := newCommand(ctx, ".", "go", "test", "-count=1", "-v", "-timeout", "20m", "-run", "^TestReleaseBefore$", "./cmd/e2e")
	test.Env = append(os.Environ(), "QUARRY_BEFORE_BINARY="+filepath.Join(dir, "quarry"))
	return test.Run()
}
