package random

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// These are the bounds of a sample.
const (
	sampleFiles  = 2500      // files that are read, over all trees
	maxFileBytes = 256 << 10 // larger files are not drawn
	minFileBytes = 200
	maxTreeFiles = 400_000
	// minWordBytes and maxWordBytes bound the length of an identifier that is drawn.
	minWordBytes, maxWordBytes = 3, 40
)

// deciles is the number of classes of identifiers by frequency.
const deciles = 10

// ErrNoText is returned for trees from which nothing can be drawn.
var ErrNoText = errors.New("the trees have no text to draw queries from")

// file is a file of the sample.
type file struct {
	repository, path string
	lines            []string
}

// Sample is the text from which queries are drawn.
type Sample struct {
	files []file
	// words holds the identifiers of the files, in deciles of their occurrences: an
	// identifier of the first decile is one of the few that make up a tenth of the text,
	// one of the last occurs once or twice.
	words [deciles][]string
	known map[string]bool
}

var wordPattern = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// ReadSample reads files of the trees (repository name → checkout). The share of a tree
// is proportional to the square root of its number of files, so that a large repository
// does not hide the others.
func ReadSample(trees map[string]string, seed uint64) (*Sample, error) {
	r := rand.New(rand.NewPCG(seed, 0))
	paths, sum := map[string][]string{}, 0.0
	names := slices.Sorted(maps.Keys(trees))
	for _, name := range names {
		listed, err := listFiles(trees[name])
		if err != nil {
			return nil, fmt.Errorf("list the files of %s: %w", name, err)
		}
		paths[name] = listed
		sum += math.Sqrt(float64(len(listed)))
	}
	s := &Sample{known: map[string]bool{}}
	for _, name := range names {
		listed := paths[name]
		share := int(math.Ceil(sampleFiles * math.Sqrt(float64(len(listed))) / max(sum, 1)))
		for _, i := range r.Perm(len(listed))[:min(share, len(listed))] {
			data, err := os.ReadFile(filepath.Join(trees[name], filepath.FromSlash(listed[i])))
			if err != nil {
				return nil, err
			}
			if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
				s.files = append(s.files, file{repository: name, path: listed[i], lines: strings.Split(string(data), "\n")})
			}
		}
	}
	s.countWords()
	if len(s.files) == 0 || len(s.known) < deciles {
		return nil, ErrNoText
	}
	return s, nil
}

// listFiles returns the regular files of a tree from which queries may be drawn, in path
// order.
func listFiles(root string) (paths []string, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || len(paths) >= maxTreeFiles {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Size() < minFileBytes || info.Size() > maxFileBytes {
			return err
		}
		relative, err := filepath.Rel(root, path)
		paths = append(paths, filepath.ToSlash(relative))
		return err
	})
	return paths, err
}

// countWords divides the identifiers of the files into deciles.
func (s *Sample) countWords() {
	counts, total := map[string]int{}, 0
	for _, f := range s.files {
		for _, line := range f.lines {
			for _, w := range wordPattern.FindAllString(line, -1) {
				s.known[w] = true
				if len(w) >= minWordBytes && len(w) <= maxWordBytes {
					counts[w]++
					total++
				}
			}
		}
	}
	byCount := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	seen := 0
	for _, w := range byCount {
		decile := min(seen*deciles/total, deciles-1)
		s.words[decile] = append(s.words[decile], w)
		seen += counts[w]
	}
}
