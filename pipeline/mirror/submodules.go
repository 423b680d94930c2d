package mirror

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/gitmodules"
)

// maxSubmoduleLookups bounds the paths of a .gitmodules file that are looked up: usually
// each of them is a submodule.
const maxSubmoduleLookups = 200

// ListSubmodules returns the first submodules of a commit in the order of their paths, at
// most limit. It leaves out those whose URL gitmodules.ResolveURL rejects, and looks at no
// more than maxSubmoduleLookups paths.
func (m *Mirror) ListSubmodules(ctx context.Context, r code.Repository, commit code.CommitID, limit int) ([]code.Submodule, error) {
	reader, err := m.Reader(ctx)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	c, err := reader.commit(ctx, string(commit))
	if err != nil {
		return nil, err
	}
	urls, err := reader.moduleURLs(ctx, c.Tree)
	if err != nil {
		return nil, err
	}
	paths := make([]string, 0, len(urls))
	for path := range urls {
		if urls[path] = gitmodules.ResolveURL(r.CloneURL, urls[path]); urls[path] != "" {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	var out []code.Submodule
	for _, path := range paths[:min(len(paths), maxSubmoduleLookups)] {
		if len(out) == limit {
			break
		}
		n, _, err := reader.Find(ctx, c.Tree, path)
		if errors.Is(err, ErrNoPath) || errors.Is(err, ErrTooLarge) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n.Mode.IsSubmodule() {
			out = append(out, code.Submodule{CloneURL: urls[path], Commit: code.CommitID(n.ID.String())})
		}
	}
	return out, nil
}

// moduleURLs returns the URLs in the .gitmodules file of a tree, as written, by path; none
// if the file is missing, too large, unreadable or not a valid configuration.
func (r *Reader) moduleURLs(ctx context.Context, tree ObjectID) (map[string]string, error) {
	n, _, err := r.Find(ctx, tree, gitmodules.Path)
	if errors.Is(err, ErrNoPath) || errors.Is(err, ErrTooLarge) || err == nil && (!n.Mode.IsFile() || n.Mode.IsSymlink()) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, _, err := r.Blob(ctx, n.ID, gitmodules.MaxBytes)
	if errors.Is(err, ErrTooLarge) || errors.Is(err, ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	urls, err := gitmodules.Parse(string(text))
	if err != nil {
		return nil, nil // an invalid file names no submodules
	}
	return urls, nil
}

// Names of files next to the mirror.
const (
	submodulesName = "submodules.json"
	pinsName       = "pins.json"
)

// SaveSubmodules stores the submodules that were last announced.
func (m *Mirror) SaveSubmodules(list []code.Submodule) error {
	return m.saveList(submodulesName, list, len(list))
}

// Submodules returns the list stored by SaveSubmodules; empty if none is stored or the
// file is damaged, because announcing the list again changes nothing.
func (m *Mirror) Submodules() (list []code.Submodule) {
	if m.loadValue(submodulesName, &list) != nil {
		return nil
	}
	return list
}

// SavePins stores the pins of the repository.
func (m *Mirror) SavePins(commits []code.CommitID) error {
	return m.saveList(pinsName, commits, len(commits))
}

// Pins returns the commits stored by SavePins.
func (m *Mirror) Pins() (commits []code.CommitID, err error) {
	if err := m.loadValue(pinsName, &commits); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, m.wrapError("read", err)
	}
	return commits, nil
}

// saveList stores a list, or removes the file if the list is empty.
func (m *Mirror) saveList(name string, list any, length int) error {
	if length > 0 {
		return m.saveValue(name, list)
	}
	if err := removeIfThere(filepath.Join(m.dir, name)); err != nil {
		return m.wrapError("save", err)
	}
	return nil
}

// ResolvePins returns a revision for each of the commits that a branch or tag leads to, at
// its indexed commit, and the other commits; each in ascending order and without
// duplicates. It takes one git process, which walks what none of the refs leads to.
func (m *Mirror) ResolvePins(ctx context.Context, commits []code.CommitID) (pins []code.Revision, unreachable []code.CommitID, err error) {
	commits = slices.Compact(slices.Sorted(slices.Values(commits)))
	present, err := m.presentCommits(ctx, commits)
	if err != nil {
		return nil, nil, err
	}
	reachable, err := m.reachableFromIndexed(ctx, present)
	if err != nil {
		return nil, nil, err
	}
	for _, commit := range commits {
		if reachable[commit] {
			pins = append(pins, code.Revision{Ref: code.PinRef(commit), Commit: commit})
		} else {
			unreachable = append(unreachable, commit)
		}
	}
	return pins, unreachable, nil
}

// reachableFromIndexed returns the set of those of the commits that a branch or tag leads
// to, at its indexed commit. The mirror must contain the commits.
func (m *Mirror) reachableFromIndexed(ctx context.Context, commits []code.CommitID) (map[code.CommitID]bool, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	reachable := make(map[code.CommitID]bool, len(commits))
	var in bytes.Buffer
	for _, commit := range commits {
		reachable[commit] = true
		fmt.Fprintln(&in, commit)
	}
	args := []string{"rev-list", "--ignore-missing", "--stdin", "--not", "--glob=" + indexedPrefix + branchPrefix + "*", "--glob=" + indexedPrefix + tagPrefix + "*"}
	err := m.ms.git.streamOutput(ctx, command{gitDir: m.gitDir(), args: args, stdin: in.Bytes(), timeout: m.ms.o.FetchTimeout}, func(r io.Reader) error {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			delete(reachable, code.CommitID(lines.Text()))
		}
		return lines.Err()
	})
	if err != nil {
		return nil, m.wrapError("look for the refs that lead to commits of", err)
	}
	return reachable, nil
}

// presentCommits returns those of the commits that the mirror contains. It leaves out
// commits of more than maxCommitBytes, which cannot be indexed.
func (m *Mirror) presentCommits(ctx context.Context, commits []code.CommitID) ([]code.CommitID, error) {
	ref := m.AnnouncedDefault()
	if len(commits) == 0 || ref == "" || !m.hasRepository() {
		return nil, nil
	}
	head, err := m.IndexedCommit(ctx, ref)
	if err != nil {
		return nil, err
	}
	var wanted []code.CommitID
	var ids []ObjectID
	for _, commit := range commits {
		// git would take the name of the other hash for an abbreviation.
		if id, err := ParseObjectID([]byte(commit)); err == nil && validateCommit(commit) == nil && len(commit) == len(head) {
			wanted, ids = append(wanted, commit), append(ids, id)
		}
	}
	reader, err := m.Reader(ctx)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	var present []code.CommitID
	err = reader.pipelineRequests(ctx, reader.info, ids, reader.info.infoVerb, func(i int) error {
		h, err := reader.info.readHeader()
		if err == nil && h.kind == "commit" && h.size <= maxCommitBytes {
			present = append(present, wanted[i])
		}
		return err
	})
	if err != nil {
		return nil, m.wrapError("look for commits of", err)
	}
	return present, nil
}
