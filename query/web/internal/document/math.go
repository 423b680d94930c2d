package document

import (
	"bytes"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// mathExtension reads mathematical expressions as GitHub does: $x$, $`x`$, and $$x$$ or a block of
// code in the language math for one on its own lines. The document shows their TeX in
// elements of the class math, from which a script of the page makes formulas.
type mathExtension struct{}

// Extend implements goldmark.Extender.
func (mathExtension) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(
		parser.WithInlineParsers(util.Prioritized(inlineMath{}, 150)),
		parser.WithBlockParsers(util.Prioritized(blockMath{}, 650)),
	)
	m.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(mathRenderer{}, 500)))
}

// mathNode is an expression within a line.
type mathNode struct {
	ast.BaseInline
	tex []byte
}

var (
	kindMath      = ast.NewNodeKind("Math")
	kindMathBlock = ast.NewNodeKind("MathBlock")
)

func (*mathNode) Kind() ast.NodeKind { return kindMath }

func (n *mathNode) Dump(source []byte, level int) {
	ast.DumpHelper(n, source, level, map[string]string{"tex": string(n.tex)}, nil)
}

// maxInlineMath bounds the bytes of an expression within a line: each dollar looks so far for its
// partner.
const maxInlineMath = 2000

// inlineMath parses expressions within a line. The first and the last character are no blanks,
// and what follows is no letter or digit, so that $5 and $10 are prices.
type inlineMath struct{}

func (inlineMath) Trigger() []byte { return []byte{'$'} }

func (inlineMath) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	line = line[:min(len(line), maxInlineMath)]
	open, end := []byte("$"), []byte("$")
	switch {
	case bytes.HasPrefix(line, []byte("$`")):
		open, end = []byte("$`"), []byte("`$")
	case bytes.HasPrefix(line, []byte("$$")):
		open, end = []byte("$$"), []byte("$$")
	}
	if before := block.PrecendingCharacter(); before < 0x80 && util.IsAlphaNumeric(byte(before)) {
		return nil
	}
	size := bytes.Index(line[len(open):], end)
	// A dollar after an odd number of backslashes is escaped.
	for len(end) == 1 && size > 0 && (size-len(bytes.TrimRight(line[1:1+size], `\`)))%2 == 1 {
		next := bytes.Index(line[len(open)+size+1:], end)
		if next < 0 {
			return nil
		}
		size += 1 + next
	}
	if size <= 0 {
		return nil
	}
	tex := line[len(open) : len(open)+size]
	after := line[len(open)+size+len(end):]
	if len(open) == 1 && (util.IsSpace(tex[0]) || util.IsSpace(tex[size-1])) || len(after) > 0 && util.IsAlphaNumeric(after[0]) {
		return nil
	}
	block.Advance(len(open) + size + len(end))
	return &mathNode{tex: tex}
}

// mathBlock is an expression between two lines with dollars; isClosed means that its last line was read.
type mathBlock struct {
	ast.BaseBlock
	isClosed bool
}

func (*mathBlock) Kind() ast.NodeKind { return kindMathBlock }
func (*mathBlock) IsRaw() bool        { return true }

func (n *mathBlock) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// blockMath parses expressions between two dollars at the beginning of a line and two at the end
// of the same or a later line.
type blockMath struct{}

var mathFence = []byte("$$")

func (blockMath) Trigger() []byte { return []byte{'$'} }

func (blockMath) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	at := pc.BlockOffset()
	if at < 0 || !bytes.HasPrefix(line[at:], mathFence) {
		return nil, parser.NoChildren
	}
	tex, isClosed := bytes.CutSuffix(bytes.TrimRight(line[at+len(mathFence):], " \t\r\n"), mathFence)
	if bytes.Contains(tex, mathFence) {
		return nil, parser.NoChildren // a line of text that begins with an expression
	}
	n := &mathBlock{isClosed: isClosed}
	start := segment.Start - segment.Padding + at + len(mathFence)
	n.Lines().Append(text.NewSegment(start, start+len(tex)))
	if !isClosed && bytes.HasSuffix(line, []byte("\n")) { // the last line of a file may have none
		n.Lines().Append(text.NewSegment(segment.Stop-1, segment.Stop))
	}
	return n, parser.NoChildren
}

func (blockMath) Continue(node ast.Node, reader text.Reader, _ parser.Context) parser.State {
	n := node.(*mathBlock)
	if n.isClosed {
		return parser.Close
	}
	line, segment := reader.PeekLine()
	tex, isClosed := bytes.CutSuffix(bytes.TrimRight(line, " \t\r\n"), mathFence)
	if n.isClosed = isClosed; isClosed {
		n.Lines().Append(text.NewSegment(segment.Start, segment.Start+len(tex)))
	} else {
		n.Lines().Append(segment)
	}
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

func (blockMath) Close(ast.Node, text.Reader, parser.Context) {}
func (blockMath) CanInterruptParagraph() bool                 { return true }
func (blockMath) CanAcceptIndentedLine() bool                 { return false }

// mathRenderer renders the TeX of expressions.
type mathRenderer struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (mathRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(kindMath, func(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			writeMath(w, "code", node.(*mathNode).tex)
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(kindMathBlock, func(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			writeMath(w, "pre", node.Lines().Value(source))
		}
		return ast.WalkSkipChildren, nil
	})
}

// writeMath writes an expression; an error of a writer comes back when it is flushed.
func writeMath(w util.BufWriter, element string, tex []byte) {
	_, _ = w.WriteString("<" + element + ` class="math">`)
	_, _ = w.Write(util.EscapeHTML(tex))
	_, _ = w.WriteString("</" + element + ">")
}
