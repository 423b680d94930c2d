package backbone

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
)

const (
	// filesOfSmall is the number of files in each small repository, linesOfSmall the
	// number of lines in each file.
	filesOfSmall, linesOfSmall = 10, 60
)

// smallRepository is a repository that receives many pushes.
type smallRepository struct {
	dir     string
	number  int
	commits []string // the first one is imported
}

func (s *smallRepository) pushWord(push int) string {
	return fmt.Sprintf("throughput_%03d_%05d_word", s.number, push)
}

// prepareSmall creates repositories with a commit for each push. Each commit edits one
// file.
func (o *Options) prepareSmall(ctx context.Context, pushesOfEach int) ([]*smallRepository, error) {
	repositories := make([]*smallRepository, o.Repositories)
	for n := range repositories {
		s := &smallRepository{dir: o.gitPath(fmt.Sprintf("small-%03d.git", n)), number: n}
		err := corpus.WriteRepository(ctx, s.dir, func(c *corpus.Commits) {
			c.Begin("all")
			for f := range filesOfSmall {
				c.File(smallPath(f), s.fileContent(f, 0))
			}
			for push := 1; push <= pushesOfEach; push++ {
				c.Begin(s.pushWord(push))
				c.File(smallPath(push%filesOfSmall), s.fileContent(push%filesOfSmall, push))
			}
		})
		if err != nil {
			return nil, err
		}
		if s.commits, err = corpus.History(ctx, s.dir, corpus.LastRef); err != nil {
			return nil, err
		}
		if len(s.commits) != pushesOfEach+1 {
			return nil, fmt.Errorf("%s has %d commits, want %d", s.dir, len(s.commits), pushesOfEach+1)
		}
		repositories[n] = s
	}
	return repositories, nil
}

func smallPath(f int) string { return fmt.Sprintf("source/part_%02d.go", f) }

// fileContent returns a file as of a push: a unique word, and lines that are the same at
// every push.
func (s *smallRepository) fileContent(f, push int) []byte {
	text := fmt.Appendf(nil, "package source\n\n// %s\n", s.pushWord(push))
	for line := range linesOfSmall {
		text = fmt.Appendf(text, "func part%02dOf%03dStep%02d(in []byte) (int, error) { return len(in) * %d, nil }\n", f, s.number, line, line*s.number)
	}
	return text
}
