package answers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// ProgramsName is the name of the source with the failing programs.
const ProgramsName = "programs"

// FrameFamily is the name of the family that Frames returns.
const FrameFamily = "stack frame"

// frame describes a line of a trace.
type frame struct {
	trace *trace
	text  string
	// repository and path identify the file, line the line in it.
	repository, path string
	line             int
	// function is the preceding line in a trace that has two lines for each frame.
	// defined is the number of the line that defines the function.
	function string
	defined  int
}

// place matches the file and the line in a line of a trace, in any language.
var place = regexp.MustCompile(`"?([A-Za-z]:)?([A-Za-z0-9_.\-/\\]*[A-Za-z0-9_\-]+\.(?:go|java|py|js|rs|cc|cs))"?(?::line |, line |:)(\d+)`)

// Frames writes and runs the programs of a seed below dir, which must be indexed as
// ProgramsName, and draws tasks from their traces. missing lists the languages that could
// not be run.
func Frames(ctx context.Context, seed uint64, dir string, sources Sources) (f Family, missing []string, err error) {
	traces, missing, err := runFailingPrograms(ctx, rand.New(rand.NewPCG(seed, 1<<32)), filepath.Join(dir, fmt.Sprint(seed)))
	if err != nil {
		return f, nil, err
	}
	programs, err := OpenSource(ProgramsName, dir)
	if err != nil {
		return f, nil, err
	}
	l := locator{sources: append(Sources{programs}, sources...)}
	var wholes [][]frame
	for i := range traces {
		if frames := l.findFrames(&traces[i]); len(frames) > 0 {
			wholes = append(wholes, frames)
		}
	}
	f = Family{FrameFamily, func(r *rand.Rand) (Task, bool) {
		frames := wholes[r.IntN(len(wholes))]
		return drawFrame(r, frames)
	}}
	return f, missing, nil
}

func drawFrame(r *rand.Rand, frames []frame) (Task, bool) {
	f := frames[r.IntN(len(frames))]
	language := f.trace.language
	if f.trace.made {
		language += " (documented format)"
	}
	t := Task{Variant: language, From: fmt.Sprintf("%s:%s:%d", f.repository, f.path, f.line)}
	number := f.line
	switch v := r.IntN(10); {
	case v == 0: // a trace is read from the failing frame on
		t.Variant, t.Text = language+", all of the trace", f.trace.text
		if f = frames[0]; f.trace.language == "Python" {
			f = frames[len(frames)-1]
		}
		number = f.line
	case v == 1 && f.function == "":
		t.Variant, t.Text = "file and line", path.Base(f.path)+":"+strconv.Itoa(f.line)
	case v < 5 && f.function != "" && f.defined > 0:
		t.Variant, t.Text, number = language+", function", f.function, f.defined
	case v < 7 && f.function != "":
		t.Text = f.function + "\n" + f.text
	default:
		t.Text = f.text
	}
	if r.IntN(2) == 0 {
		t.Text = strings.TrimSpace(t.Text)
	}
	repository, file := f.repository, f.path
	t.Right = func(l Line) bool { return l.Repository == repository && l.Path == file && l.Number == number }
	return t, true
}

// locator finds the files that traces name.
type locator struct{ sources Sources }

// findFrames returns the frames of a trace whose files exist, in order.
func (l *locator) findFrames(t *trace) (frames []frame) {
	lines := strings.Split(t.text, "\n")
	for i, line := range lines {
		m := place.FindStringSubmatch(line)
		if m == nil || !isFrame(t.language, line) {
			continue
		}
		f := frame{trace: t, text: line}
		f.line, _ = strconv.Atoi(m[3])
		source := l.locateFile(t.language, strings.ReplaceAll(m[2], `\`, "/"), line, &f)
		if source == nil || f.line == 0 {
			continue
		}
		if i > 0 && (t.language == "Go" || t.language == "Rust") {
			f.function = lines[i-1]
			f.defined = definedAt(source.Lines(f.path), f.function)
		}
		frames = append(frames, f)
	}
	return frames
}

func isFrame(language, line string) bool {
	text := strings.TrimSpace(line)
	switch language {
	case "Go":
		return strings.HasPrefix(line, "\t")
	case "Python":
		return strings.HasPrefix(text, "File ")
	case "C++":
		return strings.HasPrefix(text, "#")
	}
	return strings.HasPrefix(text, "at ")
}

var functionName = regexp.MustCompile(`([A-Za-z_]\w*)(?:\(|$)`)

// definedAt returns the line that defines the function in a line of a trace, or 0 if it
// is not found.
func definedAt(lines []string, function string) int {
	if i := strings.LastIndexByte(function, '('); i > 0 {
		function = function[:i]
	}
	name := function[strings.LastIndexAny(function, ".:")+1:]
	if m := functionName.FindStringSubmatch(name); m == nil {
		return 0
	}
	definition := regexp.MustCompile(`^\s*(?:pub )?(?:func|fn)\b.*\b` + regexp.QuoteMeta(name) + `\(`)
	found := 0
	for i, l := range lines {
		if definition.MatchString(l) {
			if found > 0 {
				return 0 // two definitions with this name
			}
			found = i + 1
		}
	}
	return found
}

// locateFile sets the file of a frame: the one that matches the longest suffix of the
// path.
func (l *locator) locateFile(language, named, line string, f *frame) *Source {
	if language == "Java" { // the path is derived from the package
		m := regexp.MustCompile(`at ([\w.]+)\.[\w$]+\.[\w$<>]+\(`).FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		named = strings.ReplaceAll(m[1], ".", "/") + "/" + named
	}
	parts := strings.Split(strings.TrimPrefix(path.Clean(filepath.ToSlash(named)), "/"), "/")
	var best *Source
	longest := 0
	for _, s := range l.sources {
		for _, file := range s.Files {
			if n := sharedSuffix(parts, strings.Split(s.Name+"/"+file, "/")); n > longest {
				best, longest = s, n
				f.repository, f.path = s.Name, file
			}
		}
	}
	if longest < 2 && len(parts) > 1 {
		return nil
	}
	return best
}

func sharedSuffix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
