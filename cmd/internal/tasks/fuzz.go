package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

type fuzzTask struct {
	Time time.Duration `default:"30s" help:"Time of each fuzz test."`
}

// Run implements the task. go test fuzzes one target of one package at a time,
// so the targets are listed first.
func (f *fuzzTask) Run(ctx context.Context) error {
	packages, err := output(ctx, ".", "go", "list", "./...")
	if err != nil {
		return err
	}
	for pkg := range strings.FieldsSeq(packages) {
		names, err := output(ctx, ".", "go", "test", "-list", "^Fuzz", pkg)
		if err != nil {
			return err
		}
		for line := range strings.Lines(names) {
			name := strings.TrimSpace(line)
			if !strings.HasPrefix(name, "Fuzz") {
				continue
			}
			fmt.Println("==", pkg, name)
			if err := command(ctx, ".", "go", "test", "-run", "^$", "-fuzz", "^"+name+"$", "-fuzztime", f.Time.String(), pkg).Run(); err != nil {
				return fmt.Errorf("%s %s: %w", pkg, name, err)
			}
		}
	}
	return nil
}
