package mcp

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// This file reports what a path refers to if a tool expects something else, and which
// tool to call instead.

// maxDirectoryEntries bounds the directory entries that read_file lists.
const maxDirectoryEntries = 200

// directoryPath reports whether a path can only mean a directory, and returns it in the
// form that other tools take.
func directoryPath(p string) (directory string, ok bool) {
	if p == "." || p == "./" || p == "/" {
		return "", true
	}
	directory, ok = strings.CutSuffix(p, "/")
	return directory, ok
}

// readDirectory answers a read_file call for a directory.
func (c *call) readDirectory(ctx context.Context, r *code.Repository, ref, directory string) error {
	entries, err := c.o.Source.Folder(ctx, r, ref, directory)
	if err != nil {
		return err
	}
	name := pathText(directory)
	if directory == "" {
		name = "/"
	}
	c.addLinef("%s in %s is a directory, not a file. It has %s:", name, r.Name, formatCount(len(entries), "entry", "entries"))
	shown := 0
	for _, e := range entries[:min(len(entries), maxDirectoryEntries)] {
		line := pathText(e.Name)
		switch e.Kind {
		case source.KindTree:
			line += "/"
		case source.KindCommit:
			line += " (submodule)"
		}
		if !c.out.addLineIfFits(line) {
			break
		}
		shown++
	}
	if shown < len(entries) {
		c.addLinef("%d more: list_tree with path=%q and offset=%d goes on.", len(entries)-shown, directory, shown)
	}
	if i := firstFile(entries); i >= 0 {
		c.addLinef("Call read_file with the path of a file, such as %q; list_tree shows several levels.", path.Join(directory, entries[i].Name))
	} else {
		c.addLinef("list_tree with path=%q and depth=3 shows what lies below.", directory)
	}
	return nil
}

// firstFile returns the index of the first file in a directory, or -1 if there is none.
func firstFile(entries []source.Entry) int {
	for i, e := range entries {
		if e.Kind == source.KindBlob {
			return i
		}
	}
	return -1
}

// whatIsThere reports what is at a path that a tool could not use, and which tool to
// call. It returns an empty string if there is nothing.
func (c *call) whatIsThere(ctx context.Context, p string) string {
	r, err := c.o.Index.Repository(ctx, c.args.getText("repo"))
	if err != nil {
		return ""
	}
	ref, _ := c.args["ref"].(string)
	p = strings.Trim(p, "/")
	file, err := c.o.Source.File(ctx, r, ref, p)
	name := pathText(p)
	switch {
	case err == nil && file.Skipped == code.SkipSymlink:
		return fmt.Sprintf("%s is a symbolic link to %.200s. %s", name, pathText(string(file.Text)), linkAdvice(p, file.Text))
	case err == nil:
		return fmt.Sprintf("%s is a file of %s: call read_file with path=%q.", name, formatCount(lineCount(file.Text), "line", "lines"), p)
	case errors.Is(err, source.ErrDirectory):
		return fmt.Sprintf("%s is a directory: call list_tree with path=%q to see what is in it.", name, p)
	case errors.Is(err, source.ErrSubmodule):
		return fmt.Sprintf("%s is a submodule: its files are in another repository. list_repos with query=%q finds it if it is here.", name, path.Base(p))
	case errors.Is(err, source.ErrBinary):
		return fmt.Sprintf("%s is a binary file: it cannot be shown as text. list_commits with path=%q shows its history.", name, p)
	case errors.Is(err, source.ErrTooLarge):
		return fmt.Sprintf("%s is a file that is too large to be read. list_commits with path=%q shows its history.", name, p)
	}
	return ""
}

// noteSkipped explains why searches do not find a file that was read, or some of its
// symbols.
func (c *call) noteSkipped(p string, f *source.File) {
	if f.PartialSymbols != "" {
		c.addLinef("Some symbols of this file are missing (%s). %s", f.PartialSymbols, f.PartialSymbols.Advice())
	}
	switch f.Skipped {
	case "":
	case code.SkipSymlink:
		c.addLinef("This is a symbolic link, and the text is its target. %s", linkAdvice(p, f.Text))
	default:
		c.addLinef("grep and the symbols do not find this file (%s). %s", f.Skipped, f.Skipped.Advice())
	}
}

// linkAdvice explains how to read the target of a symbolic link.
func linkAdvice(p string, target []byte) string {
	to := path.Join(path.Dir(p), strings.TrimSpace(string(target)))
	if path.IsAbs(string(target)) || code.ValidatePath(to) != nil {
		return "The target is outside of the repository."
	}
	return fmt.Sprintf("Call read_file with path=%q.", to)
}

// pastTheEnd returns the error for an offset after the last line of a file.
func pastTheEnd(lines int) error {
	return fmt.Errorf("%w: offset: the file has %s, so that offset is at most %d", errArguments, formatCount(lines, "line", "lines"), max(lines, 1))
}

// noLines reports an offset after the last line, for answers that are not files.
func (c *call) noLines(offset, lines int) {
	c.addLinef("There are no lines from offset %d on: there are %d, from offset=0.", offset, lines)
}
