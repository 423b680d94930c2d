package document

import (
	"bytes"
	"errors"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Bounds of the work for one document. The parser of Markdown takes quadratic time for many
// documents that only an attacker writes: a megabyte of ">" takes minutes.
const (
	// maxWork bounds the bytes that the parser may have to look at, over all characters that can
	// begin an element. Of 6,151 documents of well-known projects, the most expensive one, a list of
	// changes, needs 2.5 million.
	maxWork = 50_000_000
	// maxBlockDepth bounds the blocks within one another, such as quotes in lists.
	maxBlockDepth = 64
	// maxRenderedBytes bounds the markup, as it is parsed and as the page has it: a line can refer to
	// an address of a megabyte, and links are resolved below the path of the document.
	maxRenderedBytes = 8 << 20
	// cellWork is the work for a cell of a table. A row has as many cells as the line below the first
	// one has, so that a short text may have a billion of them.
	cellWork = 100
)

// budget counts the work of the parser, and ends it by a panic when there is too much: it has no
// other way to stop. It is an extension that takes part in the parsing and never finds an element.
type budget struct {
	work      int
	footnotes int // that are defined so far
	// escapes and ticks are the escaped lines between cells, and the backticks near them, so far. All
	// of the former are compared with each piece of code.
	escapes, ticks  int
	parsed, cleaned int // bytes of markup
}

// errBudget is the value of the panic.
var errBudget = errors.New("the document takes too much work to render")

func (b *budget) spend(work int) {
	if b.work += work; b.work > maxWork {
		panic(errBudget)
	}
}

// limit calls f, and returns ErrTooLarge if it spends more than there is.
func (b *budget) limit(f func() error) (err error) {
	defer func() {
		if p := recover(); p == errBudget {
			err = ErrTooLarge
		} else if p != nil {
			panic(p)
		}
	}()
	return f()
}

// boundedWriter keeps at most maxRenderedBytes of all markup that count has counted. It panics like
// the parser, because renderers do not look at errors.
type boundedWriter struct {
	bytes.Buffer
	count *int
}

// Write implements io.Writer.
func (w *boundedWriter) Write(p []byte) (int, error) {
	if *w.count += len(p); *w.count > maxRenderedBytes {
		panic(errBudget)
	}
	return w.Buffer.Write(p)
}

// WriteString implements io.StringWriter.
func (w *boundedWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// Extend implements goldmark.Extender. The priorities are those before all other parsers.
func (b *budget) Extend(m goldmark.Markdown) {
	first := util.Prioritized(blockBudget{b}, -1)
	m.Parser().AddOptions(parser.WithBlockParsers(first), parser.WithInlineParsers(util.Prioritized(inlineBudget{b}, -1)),
		parser.WithParagraphTransformers(util.Prioritized(paragraphBudget{b}, -1)))
}

// blockBudget counts the beginnings of blocks.
type blockBudget struct{ *budget }

func (blockBudget) Trigger() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}

func (b blockBudget) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := len(pc.OpenedBlocks())
	if depth > maxBlockDepth {
		panic(errBudget)
	}
	line, _ := reader.PeekLine()
	b.spend(len(line) + depth)
	if bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("[^")) {
		b.footnotes++
	}
	return nil, parser.NoChildren
}

func (blockBudget) Continue(ast.Node, text.Reader, parser.Context) parser.State { return parser.Close }
func (blockBudget) Close(ast.Node, text.Reader, parser.Context)                 {}
func (blockBudget) CanInterruptParagraph() bool                                 { return true }
func (blockBudget) CanAcceptIndentedLine() bool                                 { return true }

// paragraphBudget counts the lines of paragraphs that may define addresses, which are removed from
// the paragraph one by one, and the cells of those that are tables.
type paragraphBudget struct{ *budget }

func (b paragraphBudget) Transform(node *ast.Paragraph, reader text.Reader, _ parser.Context) {
	lines, columns := node.Lines(), 0
	for i := range lines.Len() {
		at := lines.At(i)
		line := at.Value(reader.Source())
		if i == 0 && bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("[")) {
			b.spend(lines.Len() * lines.Len())
		}
		if bytes.IndexByte(line, '-') >= 0 && len(bytes.Trim(line, "-|: \t\r\n\v\f")) == 0 { // may be below the first line of a table
			columns = max(columns, bytes.Count(line, []byte("|"))+1)
		}
		if escapes := bytes.Count(line, []byte(`\|`)); escapes > 0 {
			before := b.escapes * b.ticks
			b.escapes, b.ticks = b.escapes+escapes, b.ticks+bytes.Count(line, []byte("`"))
			b.spend(b.escapes*b.ticks - before)
		}
	}
	b.spend(columns * lines.Len() * cellWork)
}

// inlineBudget counts the characters that can begin an element within a block: for each, a parser
// may look for the end of the element up to the end of the block.
type inlineBudget struct{ *budget }

func (inlineBudget) Trigger() []byte { return []byte("[]!<`*_~$:(") }

func (b inlineBudget) Parse(parent ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, at := block.PeekLine()
	work := len(line)
	if parent.Type() == ast.TypeBlock && parent.Lines().Len() > 0 {
		work = max(work, parent.Lines().At(parent.Lines().Len()-1).Stop-at.Start)
	}
	if bytes.HasPrefix(line, []byte("[^")) {
		work += b.footnotes
	}
	b.spend(work)
	return nil
}
