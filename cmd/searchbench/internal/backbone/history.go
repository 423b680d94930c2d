package backbone

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
)

// linux is the name of the repository that receives the pushes.
const linux = "linux"

// editedFiles is the number of files that are edited in turn.
const editedFiles = 200

// history is a repository with one commit for each push.
type history struct {
	dir     string
	before  string
	commits []string
	words   []string // words[i] was added by commits[i] and stays
}

// commitBefore returns the parent of the i-th push.
func (h *history) commitBefore(i int) string {
	if i == 0 {
		return h.before
	}
	return h.commits[i-1]
}

// prepareLinux creates n commits of one file each on top of the Linux corpus.
func (o *Options) prepareLinux(ctx context.Context, n int) (*history, error) {
	sources, err := corpus.Sources(corpus.TreePath(o.Corpora, linux), min(editedFiles, n))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.gitPath(""), 0o755); err != nil {
		return nil, err
	}
	h := &history{dir: o.gitPath(linux + ".git")}
	h.before, h.commits, err = corpus.BorrowRepository(ctx, h.dir, corpus.GitPath(o.Corpora, linux), func(c *corpus.Commits) {
		for i := range n {
			s := &sources[i%len(sources)]
			word := fmt.Sprintf("freshness_%06d_word", i)
			s.Content = append(slices.Clip(s.Content), "// "+word+"\n"...)
			c.Begin(word)
			c.File(s.Path, s.Content)
			h.words = append(h.words, word)
		}
	})
	if err == nil && len(h.commits) != n {
		err = fmt.Errorf("%s has %d new commits, want %d", h.dir, len(h.commits), n)
	}
	return h, err
}
