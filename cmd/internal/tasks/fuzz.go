package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

type fuzzTask struct {
	Time time.Duration `default:"30s" help:"Time of each fuzz test."`
}

// minimizeRuns bounds the work of making an input smaller. With the default, a minute for each
// new input, large inputs leave no time for fuzzing.
const minimizeRuns = "100x"

// Run implements the task. It lists the targets first, because go test fuzzes one target
// of one package at a time. If a target fails, the others still run.
func (f *fuzzTask) Run(ctx context.Context) error {
	packages, err := runOutput(ctx, ".", "go", "list", "./...")
	if err != nil {
		return err
	}
	var failed []error
	for pkg := range strings.FieldsSeq(packages) {
		names, err := runOutput(ctx, ".", "go", "test", "-list", "^Fuzz", pkg)
		if err != nil {
			return err
		}
		for line := range strings.Lines(names) {
			name := strings.TrimSpace(line)
			if !strings.HasPrefix(name, "Fuzz") {
				continue
			}
			fmt.Println("==", pkg, name)
			if err := newCommand(ctx, ".", "go", "test", "-run", "^$", "-fuzz", "^"+name+"$", "-fuzztime", f.Time.String(), "-fuzzminimizetime", minimizeRuns, pkg).Run(); err != nil {
				failed = append(failed, fmt.Errorf("%s %s: %w", pkg, name, err))
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return errors.Join(failed...)
}
