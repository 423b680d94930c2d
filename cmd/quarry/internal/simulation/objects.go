package simulation

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// catFile answers requests of cat-file --batch-command until its input ends. Like git
// with --buffer, it writes at a flush.
func (c *gitCall) catFile(ctx context.Context) error {
	requests := bufio.NewScanner(c.e.Stdin)
	var out bytes.Buffer
	for ctx.Err() == nil && requests.Scan() {
		verb, name, _ := strings.Cut(requests.Text(), " ")
		if verb == "flush" {
			if _, err := c.e.Stdout.Write(out.Bytes()); err != nil {
				return err
			}
			out.Reset()
			continue
		}
		id, kind, content := c.readObject(name)
		switch {
		case kind == "":
			fmt.Fprintf(&out, "%s missing\n", name)
		case verb == "contents":
			fmt.Fprintf(&out, "%s %s %d\n%s\n", id, kind, len(content), content)
		default:
			fmt.Fprintf(&out, "%s %s %d\n", id, kind, len(content))
		}
	}
	return nil
}

// readObject returns the object with a name: a ref or commit of the mirror, a tree or a
// blob.
func (c *gitCall) readObject(name string) (id, kind, content string) {
	commit, wantsCommit := strings.CutSuffix(name, "^{commit}")
	if wantsCommit && strings.HasPrefix(commit, "refs/") {
		commit = string(c.readRef(commit))
	}
	if found := c.findCommit(code.CommitID(commit)); found != nil {
		return commit, "commit", found.text
	}
	if content, ok := c.host.findBlob(name); ok && !wantsCommit {
		return name, "blob", content
	}
	if content, ok := c.host.tree(name); ok && !wantsCommit {
		return name, "tree", content
	}
	return "", "", ""
}

// listFirstParents answers rev-list --first-parent.
func (c *gitCall) listFirstParents() error {
	id := code.CommitID(c.args[len(c.args)-1])
	found := c.findCommit(id)
	if found == nil {
		return gitFatal("fatal: bad object " + string(id))
	}
	var out bytes.Buffer
	for ; found != nil; id, found = found.parent, c.host.findCommit(found.parent) {
		fmt.Fprintln(&out, id)
	}
	_, err := c.e.Stdout.Write(out.Bytes())
	return err
}

// listTree answers ls-tree -r -z -l.
func (c *gitCall) listTree() error {
	id := code.CommitID(c.args[len(c.args)-1])
	found := c.findCommit(id)
	if found == nil {
		return gitFatal("fatal: Not a valid object name " + string(id))
	}
	var out bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(found.files)) {
		content, _ := c.host.findBlob(found.files[path])
		fmt.Fprintf(&out, "100644 blob %s %7d\t%s\x00", found.files[path], len(content), path)
	}
	_, err := c.e.Stdout.Write(out.Bytes())
	return err
}

// compareTrees answers diff-tree -r -z --raw.
func (c *gitCall) compareTrees() error {
	at := slices.Index(c.args, "--end-of-options")
	before, after := c.findCommit(code.CommitID(c.args[at+1])), c.findCommit(code.CommitID(c.args[at+2]))
	if before == nil || after == nil {
		return gitFatal("fatal: bad object " + c.args[at+1])
	}
	paths := maps.Clone(before.files)
	maps.Copy(paths, after.files)
	var out bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if old, now := before.files[path], after.files[path]; old != now {
			fmt.Fprintf(&out, ":%s %s %s %s M\x00%s\x00", modeOf(old), modeOf(now), nameOrZeros(old), nameOrZeros(now), path)
		}
	}
	_, err := c.e.Stdout.Write(out.Bytes())
	return err
}

// modeOf returns the mode that git prints for a file, or for none if blob is empty.
func modeOf(blob string) string {
	if blob == "" {
		return "000000"
	}
	return "100644"
}

func nameOrZeros(blob string) string {
	if blob == "" {
		return strings.Repeat("0", 40)
	}
	return blob
}
