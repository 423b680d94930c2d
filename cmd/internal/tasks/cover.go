package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

type coverTask struct {
	Profile string  `arg:"" help:"Profile of go test -coverpkg=./... -coverprofile=FILE."`
	Least   float64 `default:"0" help:"Fail if a package has fewer percent of its statements covered."`
	All     float64 `default:"0" help:"Fail if fewer percent of all statements are covered."`
	Floors  string  `type:"existingfile" help:"File of packages with their own floor, PACKAGE PERCENT on each line."`
}

// Run prints the coverage of each package, lowest first, and of all statements.
func (c *coverTask) Run(context.Context) error {
	f, err := os.Open(c.Profile)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	packages, err := readCoverage(f)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Profile, err)
	}
	floors, err := readFloors(c.Floors)
	if err != nil {
		return err
	}
	return c.printCoverage(os.Stdout, packages, floors)
}

// readFloors reads the minimum coverage of some packages, by path. An empty path yields
// none.
func readFloors(path string) (map[string]float64, error) {
	floors := map[string]float64{}
	if path == "" {
		return floors, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for n, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("%s:%d: want PACKAGE PERCENT, have %.80q", path, n+1, line)
		}
		if floors[fields[0]], err = strconv.ParseFloat(fields[1], 64); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n+1, err)
		}
	}
	return floors, nil
}

// coverage counts the statements of a package.
type coverage struct {
	name                string
	statements, covered int
}

// percent returns the coverage, which is 100 for a package without statements.
func (c coverage) percent() float64 {
	if c.statements == 0 {
		return 100
	}
	return 100 * float64(c.covered) / float64(c.statements)
}

// readCoverage reads a profile. A block occurs once for each test program that ran it,
// and is covered if one of them covers it.
func readCoverage(r io.Reader) ([]coverage, error) {
	type block struct {
		statements int
		covered    bool
	}
	blocks := map[string]block{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		if n == 1 && strings.HasPrefix(lines.Text(), "mode:") {
			continue
		}
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 || !strings.Contains(fields[0], ":") {
			return nil, fmt.Errorf("line %d: want FILE:RANGE STATEMENTS COUNT, have %.80q", n, lines.Text())
		}
		statements, err := strconv.Atoi(fields[1])
		count, countErr := strconv.Atoi(fields[2])
		if err := errors.Join(err, countErr); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		b := blocks[fields[0]]
		blocks[fields[0]] = block{statements, b.covered || count > 0}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	byName := map[string]coverage{}
	for at, b := range blocks {
		file, _, _ := strings.Cut(at, ":")
		c := byName[path.Dir(file)]
		c.name = path.Dir(file)
		c.statements += b.statements
		if b.covered {
			c.covered += b.statements
		}
		byName[c.name] = c
	}
	var out []coverage
	for _, c := range byName {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b coverage) int {
		return cmp.Or(cmp.Compare(a.percent(), b.percent()), cmp.Compare(a.name, b.name))
	})
	return out, nil
}

// printCoverage prints a line for each package. It fails if the coverage of a package, or
// of all together, is below its minimum, or if floors contains a package that does not
// exist.
func (c *coverTask) printCoverage(w io.Writer, packages []coverage, floors map[string]float64) error {
	total := coverage{name: "all"}
	var failures []error
	absent := maps.Clone(floors)
	for _, p := range packages {
		total.statements += p.statements
		total.covered += p.covered
		floor, listed := floors[p.name]
		if !listed {
			floor = c.Least
		}
		delete(absent, p.name)
		note := ""
		if listed && p.percent() >= c.Least {
			note = "  no longer needs its own floor"
		}
		if p.percent() < floor {
			failures = append(failures, fmt.Errorf("%.1f %% of the statements of %s are covered, want %g %%: add tests, or delete what nothing runs", p.percent(), p.name, floor))
		}
		_, _ = fmt.Fprintf(w, "%5.1f %%  %6d  %s%s\n", p.percent(), p.statements, p.name, note)
	}
	_, _ = fmt.Fprintf(w, "%5.1f %%  %6d  %s\n", total.percent(), total.statements, total.name)
	for _, name := range slices.Sorted(maps.Keys(absent)) {
		failures = append(failures, fmt.Errorf("%s has its own floor, and is not in the profile: remove its line", name))
	}
	if total.percent() < c.All {
		failures = append(failures, fmt.Errorf("%.1f %% of all statements are covered, want %g %%", total.percent(), c.All))
	}
	return errors.Join(failures...)
}
