package growth

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
)

// measureCopies imports an increasing number of copies of the tree into one server, keeps
// its data at each size, and compares servers on the kept data.
func (g *growth) measureCopies(ctx context.Context) error {
	stages, err := g.importCopies(ctx)
	if err != nil {
		return err
	}
	return g.compareStages(ctx, "Copies of one tree", g.kinds, stages)
}

func (g *growth) importCopies(ctx context.Context) ([]*stage, error) {
	growing := &stage{name: "copies", data: g.dataPath("copies")}
	defer g.stopServer(growing)
	var stages []*stage
	done, text := 0, int64(0)
	for _, size := range g.Copies {
		paths := map[string]string{}
		for n := done; n < size; n++ {
			name := fmt.Sprintf("copy-%03d", n)
			paths[name] = filepath.Join(g.repositoriesDir(), name+".git")
			bytes, err := g.writeCopy(ctx, paths[name], g.base.files, n)
			if err != nil {
				return nil, err
			}
			text += bytes
		}
		done = size
		s := &stage{name: fmt.Sprintf("%d ×", size), data: g.dataPath(fmt.Sprintf("copies-%d", size)), repositories: size, textBytes: text}
		if err := g.growWith(ctx, growing, s, paths); err != nil {
			return nil, err
		}
		stages = append(stages, s)
	}
	return stages, nil
}

// doneName is the file in a repository, or next to a stage's data, that marks it as complete; it contains the size of the text.
const doneName = ".growth-done"

// readDone reports whether an earlier run has completed dir.
func (g *growth) readDone(dir string) (textBytes int64, ok bool) {
	b, err := os.ReadFile(filepath.Join(dir, doneName))
	if err != nil || !g.Reuse {
		return 0, false
	}
	textBytes, err = strconv.ParseInt(string(b), 10, 64)
	return textBytes, err == nil
}

func markDone(dir string, textBytes int64) error {
	return os.WriteFile(filepath.Join(dir, doneName), strconv.AppendInt(nil, textBytes, 10), 0o644)
}

// writeCopy creates the repository of one copy of some files, and returns the size of its
// text.
func (g *growth) writeCopy(ctx context.Context, dir string, files []file, copy int) (int64, error) {
	if total, ok := g.readDone(dir); ok {
		return total, nil
	}
	total := int64(0)
	err := corpus.WriteRepository(ctx, dir, func(c *corpus.Commits) {
		c.Begin("all")
		for _, f := range files {
			content := g.base.renameWords(f.content, copy)
			total += int64(len(content))
			c.File(g.base.renamePath(f.path, copy), content)
		}
	})
	if err != nil {
		return 0, err
	}
	return total, markDone(dir, total)
}

// growWith imports repositories into the growing server, and keeps a copy of its data for
// a stage.
func (g *growth) growWith(ctx context.Context, growing, s *stage, paths map[string]string) error {
	return g.growBy(ctx, growing, s, func() error {
		_, err := growing.server.Index(ctx, paths)
		return err
	})
}

func (g *growth) growBy(ctx context.Context, growing, s *stage, index func() error) error {
	if _, ok := g.readDone(s.data); ok {
		return nil
	}
	if err := g.startServer(ctx, growing); err != nil {
		return err
	}
	began := time.Now()
	if err := index(); err != nil {
		return err
	}
	g.Log("%s: imported in %s", s.name, time.Since(began))
	if err := g.waitSettled(ctx, growing); err != nil {
		return err
	}
	g.stopServer(growing)
	if err := copyData(growing.data, s.data); err != nil {
		return err
	}
	return markDone(s.data, s.textBytes)
}

// compareStages queries servers on all stages, measures their starts, and adds the
// results to the report.
func (g *growth) compareStages(ctx context.Context, title string, kinds []questionKind, stages []*stage) error {
	for _, s := range stages {
		if err := g.startServer(ctx, s); err != nil {
			return err
		}
		defer g.stopServer(s)
		if err := g.waitSettled(ctx, s); err != nil {
			return err
		}
	}
	if err := g.askAll(ctx, kinds, stages, g.Rounds); err != nil {
		return err
	}
	for _, s := range stages {
		if err := g.readState(ctx, s); err != nil {
			return err
		}
	}
	for range g.Starts {
		for _, cold := range []bool{false, true} {
			for _, s := range stages {
				if err := g.measureStart(ctx, s, kinds[0].requests[0], cold); err != nil {
					return err
				}
			}
		}
	}
	g.report.Tables = append(g.report.Tables, stageTable(title, kinds, stages))
	return nil
}
