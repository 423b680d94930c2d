package growth

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/proc"
)

const (
	// minSmallFiles and smallSpread determine the number of files in a small repository:
	// from minSmallFiles to minSmallFiles+smallSpread-1.
	minSmallFiles = 10
	smallSpread   = 21
	// smallStep is the ratio of the two sizes that are compared.
	smallStep = 10
	// maxTargets bounds the repositories of one quarry index command.
	maxTargets = 500
)

// measureSmall compares a tenth of the small repositories with all of them.
func (g *growth) measureSmall(ctx context.Context) error {
	growing := &stage{name: "small", data: g.dataPath("small")}
	defer g.stopServer(growing)
	cut := cutter{base: g.base}
	var stages []*stage
	done, text := 0, int64(0)
	for _, size := range []int{max(g.Small/smallStep, 1), g.Small} {
		paths := map[string]string{}
		for n := done; n < size; n++ {
			name := fmt.Sprintf("small-%05d", n)
			paths[name] = filepath.Join(g.repositoriesDir(), name+".git")
			files, copy := cut.nextFiles(n)
			bytes, err := g.writeCopy(ctx, paths[name], files, copy)
			if err != nil {
				return err
			}
			text += bytes
		}
		done = size
		s := &stage{name: fmt.Sprintf("%d small", size), data: g.dataPath(fmt.Sprintf("small-%d", size)), repositories: size, textBytes: text}
		if err := g.growMany(ctx, growing, s, paths); err != nil {
			return err
		}
		stages = append(stages, s)
	}
	return g.compareStages(ctx, "Small repositories", g.kindsOf(cut.takenFiles(stages[0].repositories)), stages)
}

// cutter cuts the tree into small repositories. It makes several passes over the tree,
// each with another copy.
type cutter struct {
	base *base
	at   int
	copy int
	// first holds the end of the n-th repository in the first pass.
	first []int
}

// nextFiles returns the files of the n-th repository and the number of their copy.
func (c *cutter) nextFiles(n int) ([]file, int) {
	size := min(minSmallFiles+n*7%smallSpread, len(c.base.files))
	if c.at+size > len(c.base.files) {
		c.at, c.copy = 0, c.copy+1
	}
	files := c.base.files[c.at : c.at+size]
	c.at += size
	if c.copy == 0 {
		c.first = append(c.first, c.at)
	}
	return files, c.copy
}

// takenFiles returns the files of the original that are in the first n repositories.
func (c *cutter) takenFiles(n int) []file { return c.base.files[:c.first[min(n, len(c.first))-1]] }

// kindsOf chooses queries from a part of the tree, because the smaller stage must contain
// the answers as well.
func (g *growth) kindsOf(files []file) []questionKind {
	part := *g.base
	part.files = files
	return part.chooseQuestions()
}

// growMany adds many repositories to the index, with a few quarry index commands of many
// repositories each.
func (g *growth) growMany(ctx context.Context, growing, s *stage, paths map[string]string) error {
	return g.growBy(ctx, growing, s, func() error {
		for chunk := range slices.Chunk(slices.Sorted(maps.Values(paths)), maxTargets) {
			if err := indexMany(ctx, g.Quarry, growing.server, chunk); err != nil {
				return err
			}
		}
		return nil
	})
}

func indexMany(ctx context.Context, q *engine.Quarry, server *engine.QuarryServer, paths []string) error {
	_, err := proc.Run(ctx, proc.Spec{Path: q.Path, Args: slices.Concat([]string{"index"}, server.Flags(), paths), Unmetered: true})
	return err
}
