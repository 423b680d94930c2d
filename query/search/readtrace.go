package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/query/reading"
	"github.com/quarrysearch/quarry/query/syntax"
)

const (
	// maxFrameFiles bounds the files that a frame may refer to.
	maxFrameFiles = 20
	// maxFramePlaces bounds the places that are compared with the paths of frames.
	maxFramePlaces = 4 << 20
)

// frameFile is a file that a frame may refer to.
type frameFile struct {
	repository, path string
	partition        int32
}

// frameLocation holds the files that share most of the end of the path of a frame, and
// the number of path parts that they share.
type frameLocation struct {
	shared int
	files  []frameFile
}

// tryTrace answers with the first frame that exists. It prefers files that share two
// parts of a frame's path, in any frame, to files that share only the name.
func (p *pasteReader) tryTrace(ctx context.Context) (*Result, error) {
	frames := p.paste.Frames
	places, err := p.locateFrames(ctx, p.buildQuery(&syntax.Const{Value: true}), frames)
	if err != nil {
		return nil, err
	}
	for _, strict := range []bool{true, false} {
		for i := range frames {
			result, err := p.tryFrame(ctx, &frames[i], &places[i], strict, len(frames) > 1)
			if err != nil || result != nil {
				return result, err
			}
		}
	}
	return nil, nil
}

func (p *pasteReader) tryFrame(ctx context.Context, f *reading.Frame, at *frameLocation, strict, several bool) (*Result, error) {
	parts := strings.Count(f.Path, "/") + 1
	if f.Path != "" && at.shared >= min(parts, 2) == strict && len(at.files) > 0 {
		files := at.files
		if len(files) > 1 || !strict {
			narrowed, err := p.narrowFiles(ctx, f, files)
			if err != nil {
				return nil, err
			}
			if !strict && several && len(narrowed) == 0 {
				return nil, nil
			}
			if len(narrowed) > 0 {
				files = narrowed
			}
		}
		a := &readingAttempt{root: anyFile(files), line: f.Line, description: fmt.Sprintf("line %d of the file in the stack frame %s", f.Line, cutFilter(f.Text))}
		if f.Line == 0 {
			a = &readingAttempt{root: &syntax.And{Children: []syntax.Query{anyFile(files), symbolOf(f)}}, description: "the function in the stack frame " + cutFilter(f.Text)}
		}
		if f.Revision != "" {
			at := *a
			at.root = &syntax.And{Children: []syntax.Query{&syntax.Revision{Pattern: f.Revision}, a.root}}
			if result, err := p.runAttempt(ctx, &at); err != nil || result != nil {
				return result, err
			}
		}
		return p.runAttempt(ctx, a)
	}
	if !f.HasSymbol() || strict != (f.Path == "") || f.Path != "" && several {
		return nil, nil // the symbol is tried once: it is all there is, or the file is not indexed
	}
	for _, root := range definitionsOf(f) {
		a := &readingAttempt{root: root, description: "the function in the stack frame " + cutFilter(f.Text)}
		if result, err := p.runAttempt(ctx, a); err != nil || result != nil {
			return result, err
		}
	}
	return nil, nil
}

// narrowFiles returns those of files that define the function of a frame; none if the
// frame names no function.
func (p *pasteReader) narrowFiles(ctx context.Context, f *reading.Frame, files []frameFile) (narrowed []frameFile, err error) {
	if !f.HasSymbol() {
		return nil, nil
	}
	result, err := p.runProbe(ctx, &syntax.And{Children: []syntax.Query{anyFile(files), symbolOf(f)}}, maxFrameFiles)
	if err != nil {
		return nil, err
	}
	defer result.Release()
	for i := range result.Files {
		narrowed = append(narrowed, frameFile{repository: result.Files[i].Repo.Name, path: result.Files[i].Path})
	}
	return narrowed, nil
}

// anyFile returns a query that selects the files.
func anyFile(files []frameFile) syntax.Query {
	arms := make([]syntax.Query, len(files))
	for i, f := range files {
		arms[i] = &syntax.And{Children: []syntax.Query{
			&syntax.RepoSet{Names: []string{f.repository}},
			&syntax.File{Pattern: "^" + regexp.QuoteMeta(f.path) + "$", Case: syntax.CaseYes},
		}}
	}
	if len(arms) == 1 {
		return arms[0]
	}
	return &syntax.Or{Children: arms}
}

func exactSymbol(name string) syntax.Query {
	return &syntax.Symbol{Pattern: "^" + regexp.QuoteMeta(name) + "$", Case: syntax.CaseYes}
}

func lineWith(expression string) syntax.Query {
	return &syntax.Text{Pattern: expression, Regexp: true, Case: syntax.CaseYes}
}

// symbolOf returns a query for the definition of the function of a frame.
func symbolOf(f *reading.Frame) syntax.Query {
	name := regexp.QuoteMeta(f.Function)
	switch f.Language {
	case "Go":
		if f.Type != "" {
			return lineWith(`^func\s*\(\s*(?:\w+\s+)?\*?\s*` + regexp.QuoteMeta(f.Type) + `\b[^)]*\)\s*` + name + `\s*[(\[]`)
		}
		return lineWith(`^func\s+` + name + `\s*[(\[]`)
	case "Rust":
		return lineWith(`\bfn\s+` + name + `\b`)
	case "Python":
		return lineWith(`\bdef\s+` + name + `\b`)
	}
	return exactSymbol(f.Function)
}

// definitionsOf returns queries for the definition of the function of a frame, narrowest
// first.
func definitionsOf(f *reading.Frame) (all []syntax.Query) {
	symbol := symbolOf(f)
	within := func(q syntax.Query) {
		all = append(all, &syntax.And{Children: []syntax.Query{q, symbol}})
	}
	folders := strings.FieldsFunc(f.Package, func(c rune) bool { return c == '/' || c == '.' && f.Language != "Go" || c == ':' })
	if f.Language == "Go" {
		folders = slices.DeleteFunc(folders, func(s string) bool { return majorVersion.MatchString(s) || s == "main" })
	}
	for n := min(len(folders), 2); n > 0 && f.Language == "Go"; n-- {
		folder := regexp.QuoteMeta(strings.Join(folders[len(folders)-n:], "/"))
		within(&syntax.Or{Children: []syntax.Query{
			&syntax.File{Pattern: `(^|/)` + folder + `/[^/]+\.go$`, Case: syntax.CaseYes},
			&syntax.And{Children: []syntax.Query{
				&syntax.Repo{Pattern: `(^|[/.])` + folder + `(/v\d+)?$`, Case: syntax.CaseNo}, &syntax.File{Pattern: `^[^/]+\.go$`, Case: syntax.CaseYes},
			}},
		}})
	}
	if f.Type != "" && f.Language != "Go" {
		within(exactSymbol(f.Type))
		within(&syntax.File{Pattern: `(^|/)` + regexp.QuoteMeta(f.Type) + `(\.\w+|/[^/]+)$`, Case: syntax.CaseYes})
	}
	return append(all, symbol)
}

var majorVersion = regexp.MustCompile(`^v\d+$`)

// locateFrames compares the paths of frames with the places that a query selects.
func (p *pasteReader) locateFrames(ctx context.Context, q *syntax.Parsed, frames []reading.Frame) ([]frameLocation, error) {
	if shards, ok := p.view.(*shardedView); ok {
		return shards.locateFrames(ctx, q, frames)
	}
	l := &placeLocator{found: make([]frameLocation, len(frames)), parts: make([][]string, len(frames)), byName: map[string][]int{}}
	for i := range frames {
		if frames[i].Path != "" {
			l.parts[i] = strings.Split(frames[i].Path, "/")
			name := path.Base(frames[i].Path)
			l.byName[name] = append(l.byName[name], i)
		}
	}
	if len(l.byName) == 0 {
		return l.found, nil
	}
	located, err := p.s.planSearch(ctx, p.view, Request{Query: q, Public: p.request.Public, isPart: p.request.isPart})
	if errors.Is(err, plan.ErrPattern) {
		return l.found, nil
	}
	if err != nil {
		return nil, err
	}
	ticket, err := p.s.admission.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer ticket.Leave()
	turn := ticket.Worker(ctx.Done())
	defer turn.End()
	l.filter = newPlaceEvaluator(located.scope)
	n := 0
	for _, seg := range located.segments {
		for i := range seg.Places.Len() {
			if n++; n > maxFramePlaces || n%inspectStep == 0 && !turn.Step() {
				return l.found, ctx.Err()
			}
			if seg.isVisible(i) {
				l.lookAt(seg, i)
			}
		}
	}
	return l.found, nil
}

// placeLocator finds the files whose path ends like that of a frame.
type placeLocator struct {
	parts  [][]string       // of the path of each frame
	byName map[string][]int // frames by the name of their file
	filter placeEvaluator
	found  []frameLocation
}

func (l *placeLocator) lookAt(seg Segment, place int) {
	file := seg.Places.Path(place)
	for _, i := range l.byName[string(file[bytes.LastIndexByte(file, '/')+1:])] {
		repository := l.filter.scope.repos[seg.Places.Repo[place]]
		if repository == nil || !l.filter.evalPlace(l.filter.scope.c.root, seg, place) {
			return
		}
		f := frameFile{repository.Name, strings.ReplaceAll(string(file), "\x00", "\n"), seg.Partition}
		l.found[i].add(f, sharedParts(l.parts[i], strings.Split(f.repository+"/"+f.path, "/")))
	}
}

// add adds a file that shares some parts of the path of a frame.
func (l *frameLocation) add(f frameFile, shared int) {
	if shared > l.shared {
		l.shared, l.files = shared, l.files[:0]
	}
	if shared == l.shared && len(l.files) < maxFrameFiles && !slices.Contains(l.files, f) {
		l.files = append(l.files, f)
	}
}

// sharedParts returns the number of parts that two paths share at their ends.
func sharedParts(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
