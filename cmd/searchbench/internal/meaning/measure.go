package meaning

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Finder returns its first definition for a case, or false if it has none.
type Finder struct {
	Name string
	Find func(ctx context.Context, c *Case) (Place, bool, error)
}

// Run holds the results of a finder: for each case, whether it was right.
type Run struct {
	Name  string
	Right []bool
	First []Place
}

// Measure sends all cases to a finder.
func Measure(ctx context.Context, f Finder, cases []Case) (Run, error) {
	out := Run{Name: f.Name, Right: make([]bool, len(cases)), First: make([]Place, len(cases))}
	for i := range cases {
		place, ok, err := f.Find(ctx, &cases[i])
		if err != nil {
			return out, fmt.Errorf("%s: %s in %s:%d: %w", f.Name, cases[i].Name, cases[i].At.Path, cases[i].At.Line, err)
		}
		out.First[i] = place
		out.Right[i] = ok && slices.ContainsFunc(cases[i].Right, func(p Place) bool { return p.Path == place.Path && p.Line == place.Line })
	}
	return out, nil
}

// Report prints the share of cases whose first definition is right, as Markdown.
func Report(w io.Writer, cases []Case, runs []Run) error {
	var b strings.Builder
	b.WriteString("| language | cases | local |")
	for _, r := range runs {
		fmt.Fprintf(&b, " %s: all | local | others |", r.Name)
	}
	b.WriteString("\n| --- | ---: | ---: |" + strings.Repeat(" ---: | ---: | ---: |", len(runs)) + "\n")
	var languages []string
	for i := range cases {
		if !slices.Contains(languages, cases[i].Language) {
			languages = append(languages, cases[i].Language)
		}
	}
	for _, language := range languages {
		all := func(i int) bool { return cases[i].Language == language }
		local := func(i int) bool { return all(i) && cases[i].Local }
		others := func(i int) bool { return all(i) && !cases[i].Local }
		n, _ := countRight(cases, runs[0].Right, all)
		locals, _ := countRight(cases, runs[0].Right, local)
		fmt.Fprintf(&b, "| %s | %d | %d |", language, n, locals)
		for _, r := range runs {
			for _, part := range []func(int) bool{all, local, others} {
				n, right := countRight(cases, r.Right, part)
				fmt.Fprintf(&b, " %.3f |", float64(right)/float64(max(n, 1)))
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func countRight(cases []Case, right []bool, part func(int) bool) (n, found int) {
	for i := range cases {
		if part(i) {
			n++
			if right[i] {
				found++
			}
		}
	}
	return n, found
}

// WriteMisses lists the cases that a run gets wrong.
func WriteMisses(w io.Writer, cases []Case, run Run) {
	for i := range cases {
		if c := &cases[i]; !run.Right[i] {
			_, _ = fmt.Fprintf(w, "%s %s local=%t %s:%d:%d %s\n    %s\n    want %s:%d %s\n    have %s:%d %s\n", c.Language, c.Source.Name, c.Local,
				c.At.Path, c.At.Line, c.At.Column, c.Name, strings.TrimSpace(lineOf(c.Source.Dir, c.At)),
				c.Right[0].Path, c.Right[0].Line, strings.TrimSpace(lineOf(c.Source.Dir, c.Right[0])),
				run.First[i].Path, run.First[i].Line, strings.TrimSpace(lineOf(c.Source.Dir, run.First[i])))
		}
	}
}

// OpenTags runs universal-ctags on the sources. It returns a finder that, like editors,
// uses a tag in the same file, or else the first tag by path.
func OpenTags(ctx context.Context, program string, sources []*Source) (Finder, error) {
	tags := map[string][]Place{}
	for _, s := range sources {
		out, err := exec.CommandContext(ctx, program, "--options=NONE", "-R", "-f", "-", "--excmd=number", "--sort=no", s.Dir).Output()
		if err != nil {
			return Finder{}, fmt.Errorf("ctags: %w", err)
		}
		for line := range strings.Lines(string(out)) {
			fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if len(fields) < 3 || strings.HasPrefix(line, "!_") {
				continue
			}
			number, err := strconv.Atoi(strings.TrimSuffix(fields[2], `;"`))
			if err != nil {
				continue
			}
			path := strings.TrimPrefix(strings.TrimPrefix(fields[1], s.Dir), "/")
			key := s.Name + "\x00" + fields[0]
			tags[key] = append(tags[key], Place{Path: path, Line: number})
		}
	}
	for _, all := range tags {
		slices.SortFunc(all, func(a, b Place) int { return cmp.Or(strings.Compare(a.Path, b.Path), a.Line-b.Line) })
	}
	return Finder{"ctags", func(_ context.Context, c *Case) (Place, bool, error) {
		all := tags[c.Source.Name+"\x00"+c.Name]
		if i := slices.IndexFunc(all, func(p Place) bool { return p.Path == c.At.Path }); i >= 0 {
			return all[i], true, nil
		}
		if len(all) == 0 {
			return Place{}, false, nil
		}
		return all[0], true, nil
	}}, nil
}
