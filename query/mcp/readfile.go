package mcp

import (
	"bytes"
	"context"
	"errors"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/account"
)

// Bounds of read_file.
const (
	maxReadLines     = 5000
	defaultReadLines = 500
)

var readFileTool = &tool{
	name: "read_file", scope: account.ScopeGit,
	about: "Lines of a file with their numbers, or the contents of a directory.",
	params: []param{
		requiredParam("path", maxPathBytes, "From the root"),
		repoParam,
		refParam,
		numberParam("offset", 1, 100_000_000, 1, "First line, from 1"),
		numberParam("limit", 1, maxReadLines, defaultReadLines, "Lines"),
		maxTokensParam,
	},
	call: (*call).readFile,
}

func (c *call) readFile(ctx context.Context) error {
	r, err := c.o.Index.Repository(ctx, c.args.getText("repo"))
	if err != nil {
		return err
	}
	path, ref := c.args.getText("path"), c.args.getText("ref")
	if directory, ok := directoryPath(path); ok {
		return c.readDirectory(ctx, r, ref, directory)
	}
	file, err := c.o.Source.File(ctx, r, ref, path)
	if errors.Is(err, source.ErrDirectory) {
		return c.readDirectory(ctx, r, ref, path)
	}
	if err != nil {
		return err
	}
	total := lineCount(file.Text)
	offset := c.args.getNumber("offset")
	if offset > max(total, 1) {
		return pastTheEnd(total)
	}
	page := source.Address{Repository: r.Name, Revision: ref, Kind: source.PageBlob, Path: path}
	c.addLinef("<repo>%s</repo>\n<path>%s</path>\n<url>%s</url>\n<content>", r.Name, path, c.o.PublicURL+page.String())
	next := c.writeNumbered(file.Text, offset, c.args.getNumber("limit"))
	c.addLinef("</content>")
	switch {
	case total == 0:
		c.addLinef("The file is empty.")
	case next <= total:
		c.addLinef("Lines %d to %d of %d; offset=%d goes on.", offset, next-1, total, next)
	default:
		c.addLinef("Lines %d to %d of %d: this is the end.", offset, total, total)
	}
	c.noteSkipped(path, &file)
	return nil
}

// writeNumbered writes numbered lines of a text and returns the number of the next line.
func (c *call) writeNumbered(text []byte, offset, limit int) (next int) {
	number := 1
	for line := range bytes.Lines(text) {
		if number < offset {
			number++
			continue
		}
		shown := cutLine(line)
		if number >= offset+limit || number > offset && !c.out.hasRoom(len(shown)+len("100000: \n")) {
			break
		}
		c.addLinef("%d: %s", number, shown)
		number++
	}
	return number
}

func lineCount(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}
