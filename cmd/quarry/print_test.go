package main

import (
	"bytes"
	"testing"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

func at(offset, line int) wire.Location {
	return wire.Location{ByteOffset: offset, LineNumber: line}
}

func sample() *wire.SearchFile {
	f := &wire.SearchFile{Repository: "demo", Chunks: []wire.Chunk{
		{Content: "one\ntwo two\n", ContentStart: at(100, 7), MatchRanges: []wire.Range{
			{Start: at(104, 8), End: at(107, 8)}, {Start: at(108, 8), End: at(111, 8)},
		}},
		{Content: "two\r\nthree", ContentStart: at(200, 20), MatchRanges: []wire.Range{{Start: at(202, 20), End: at(207, 21)}}},
	}}
	f.FileName.Text = "a/b.go"
	return f
}

func TestPrinter(t *testing.T) {
	named := &wire.SearchFile{Repository: "demo"}
	named.FileName.Text = "two.txt"
	for _, c := range []struct {
		name   string
		colour terminal.Colour
		files  []*wire.SearchFile
		want   string
	}{
		{"program", terminal.ColourNever, []*wire.SearchFile{sample(), named}, "" +
			"demo:a/b.go:7-one\ndemo:a/b.go:8:two two\n--\ndemo:a/b.go:20:two\ndemo:a/b.go:21:three\ndemo:two.txt\n"},
		{"terminal", terminal.ColourAlways, []*wire.SearchFile{sample()}, "" +
			"\x1b[35mdemo:a/b.go\x1b[0m\n\x1b[32m7\x1b[0m-one\n" +
			"\x1b[32m8\x1b[0m:\x1b[1;31mtwo\x1b[0m \x1b[1;31mtwo\x1b[0m\n\x1b[2m--\x1b[0m\n" +
			"\x1b[32m20\x1b[0m:tw\x1b[1;31mo\x1b[0m\n\x1b[32m21\x1b[0m:\x1b[1;31mth\x1b[0mree\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			p := newPrinter(&out, terminal.NewStyle(&out, c.colour, nil))
			for _, f := range c.files {
				p.file(f)
			}
			if err := p.flush(); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
