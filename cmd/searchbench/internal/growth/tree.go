package growth

import (
	"context"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
)

// Tree is a folder of sources. Its copies share no rare word.
type Tree struct{ base *base }

// ReadTree reads the text files below dir into memory.
func ReadTree(dir string) (*Tree, error) {
	b, err := readBase(dir)
	if err != nil {
		return nil, err
	}
	return &Tree{b}, nil
}

// WriteCopy creates the bare repository dir of copy n, where 0 is the original, and
// returns the size of its text.
func (t *Tree) WriteCopy(ctx context.Context, dir string, n int) (textBytes int64, err error) {
	err = corpus.WriteRepository(ctx, dir, func(c *corpus.Commits) {
		c.Begin("all")
		for _, f := range t.base.files {
			content := t.base.renameWords(f.content, n)
			textBytes += int64(len(content))
			c.File(t.base.renamePath(f.path, n), content)
		}
	})
	return textBytes, err
}
