package assist

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/reading"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// tryTrace answers with the first frame that exists. It prefers files that share two
// parts of a frame's path, in any frame, to files that share only the name.
func (p *pasteReader) tryTrace(ctx context.Context) (*search.Result, error) {
	frames := p.paste.Frames
	located := &search.ShardFrames{Query: p.buildQuery(&syntax.Const{Value: true}), Frames: frames}
	places, err := p.a.engine.LocateFrames(ctx, p.a.view, located, p.request.Public)
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

func (p *pasteReader) tryFrame(ctx context.Context, f *reading.Frame, at *search.ShardFrameFiles, strict, several bool) (*search.Result, error) {
	parts := strings.Count(f.Path, "/") + 1
	if f.Path != "" && at.Shared >= min(parts, 2) == strict && len(at.Files) > 0 {
		files := at.Files
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
		description := fmt.Sprintf("line %d of the file in the stack frame %s", f.Line, syntax.ShowFilter(f.Text))
		a := &readingAttempt{root: anyFile(files), line: f.Line, description: description}
		if f.Line == 0 {
			root := &syntax.And{Children: []syntax.Query{anyFile(files), symbolOf(f)}}
			a = &readingAttempt{root: root, description: "the function in the stack frame " + syntax.ShowFilter(f.Text)}
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
		a := &readingAttempt{root: root, description: "the function in the stack frame " + syntax.ShowFilter(f.Text)}
		if result, err := p.runAttempt(ctx, a); err != nil || result != nil {
			return result, err
		}
	}
	return nil, nil
}

// narrowFiles returns those of files that define the function of a frame; none if the
// frame names no function.
func (p *pasteReader) narrowFiles(ctx context.Context, f *reading.Frame, files []search.ShardFrameFile) (narrowed []search.ShardFrameFile, err error) {
	if !f.HasSymbol() {
		return nil, nil
	}
	result, err := p.runProbe(ctx, &syntax.And{Children: []syntax.Query{anyFile(files), symbolOf(f)}}, search.MaxFrameFiles)
	if err != nil {
		return nil, err
	}
	defer result.Release()
	for i := range result.Files {
		narrowed = append(narrowed, search.ShardFrameFile{Repository: result.Files[i].Repo.Name, Path: result.Files[i].Path})
	}
	return narrowed, nil
}

// anyFile returns a query that selects the files.
func anyFile(files []search.ShardFrameFile) syntax.Query {
	arms := make([]syntax.Query, len(files))
	for i, f := range files {
		arms[i] = &syntax.And{Children: []syntax.Query{
			&syntax.RepoSet{Names: []string{f.Repository}},
			&syntax.File{Pattern: "^" + regexp.QuoteMeta(f.Path) + "$", Case: syntax.CaseYes},
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
