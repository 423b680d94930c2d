package backbone

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
)

// doneName is a file in a repository that marks it as complete. It contains the size of
// the repository's text.
const doneName = ".backbone-done"

// prepareExtraRepositories returns repositories with about BesideBytes of text in total:
// those of the corpora except Linux, and copies of them with changed rare words and
// paths, so that nothing is deduplicated.
func (o *Options) prepareExtraRepositories(ctx context.Context) (paths []string, textBytes int64, err error) {
	originals := slices.DeleteFunc(slices.Clone(o.Manifest.Repositories), func(r corpus.Built) bool { return r.Name == linux })
	for i, copies := range countCopies(originals, o.BesideBytes) {
		more, text, err := o.makeCopies(ctx, originals[i], copies)
		if err != nil {
			return nil, 0, err
		}
		paths, textBytes = append(paths, more...), textBytes+text
	}
	return paths, textBytes, nil
}

// countCopies returns how often to use each repository, in turn, until all together have
// the wanted size of text.
func countCopies(originals []corpus.Built, want int64) []int {
	copies := make([]int, len(originals))
	for total, i := int64(0), 0; total < want && len(originals) > 0; i++ {
		n := i % len(originals)
		copies[n]++
		total += max(originals[n].TextBytes, 1)
	}
	return copies
}

// makeCopies returns a repository and its copies. It creates the copies that do not exist
// yet.
func (o *Options) makeCopies(ctx context.Context, r corpus.Built, n int) (paths []string, textBytes int64, err error) {
	var tree *corpus.Tree
	for i := range n {
		if i == 0 {
			paths, textBytes = append(paths, corpus.GitPath(o.Corpora, r.Name)), textBytes+r.TextBytes
			continue
		}
		path := o.gitPath(fmt.Sprintf("%s-copy-%d.git", r.Name, i))
		text, ok := o.readDone(path)
		if !ok {
			if tree == nil {
				if tree, err = corpus.ReadTree(corpus.TreePath(o.Corpora, r.Name)); err != nil {
					return nil, 0, err
				}
			}
			if text, err = tree.WriteCopy(ctx, path, i); err != nil {
				return nil, 0, err
			}
			if err := os.WriteFile(filepath.Join(path, doneName), strconv.AppendInt(nil, text, 10), 0o644); err != nil {
				return nil, 0, err
			}
		}
		paths, textBytes = append(paths, path), textBytes+text
	}
	return paths, textBytes, nil
}

func (o *Options) readDone(path string) (textBytes int64, ok bool) {
	b, err := os.ReadFile(filepath.Join(path, doneName))
	if err != nil || !o.Reuse {
		return 0, false
	}
	textBytes, err = strconv.ParseInt(string(b), 10, 64)
	return textBytes, err == nil
}
