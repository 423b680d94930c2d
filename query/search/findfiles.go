package search

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search/internal/admission"
	"github.com/quarrysearch/quarry/query/search/internal/fuzzy"
)

// Bounds of a search for files by the letters of their paths.
const (
	// MaxFileLetters bounds the letters in bytes. MaxFoundFiles bounds the files found.
	MaxFileLetters = fuzzy.MaxLetters
	MaxFoundFiles  = 100
	// fileStep is the number of paths checked before the search yields to others.
	fileStep = 4096
)

// FileRequest finds files whose paths contain the given letters in order, possibly with
// other characters in between.
type FileRequest struct {
	// Letters match in any letter case; blanks are ignored. There must be at least one
	// letter and at most MaxFileLetters bytes.
	Letters string
	// Repository is the full name of the only repository to search; empty for all.
	Repository string
	Limit      int // 1 to MaxFoundFiles
}

// FoundFiles holds the files with the highest scores and the total number of matches.
type FoundFiles struct {
	Files []FoundFile
	Total int
}

// FoundFile is a file on the default branch of its repository.
type FoundFile struct {
	Repo  *corpus.Repository
	Path  string
	Score int
	// Positions are the byte offsets of the letters in Path, ascending.
	Positions []int
}

// FindFiles finds files by letters of their paths, best first. Letters score higher at
// the beginning of a word, in the file name, and next to each other. FindFiles checks
// every path that the view shows, so Total is exact, without LostPartitions of the view. It
// fails with ErrBusy or the error of ctx.
func (s *Searcher) FindFiles(ctx context.Context, view corpus.View, r FileRequest) (*FoundFiles, error) {
	letters := strings.ToLower(strings.Join(strings.Fields(r.Letters), ""))
	if letters == "" || len(letters) > MaxFileLetters || r.Limit < 1 || r.Limit > MaxFoundFiles {
		return nil, fmt.Errorf("find files: %d letters, limit %d: out of bounds", len(letters), r.Limit)
	}
	f := &fileFinder{letters: letters, rare: rareLetters(letters), keep: 4 * r.Limit, only: r.Repository, repos: view.Repositories()}
	if shards, ok := view.(*shardedView); ok {
		if err := shards.findFiles(ctx, f); err != nil {
			return nil, err
		}
	} else if err := s.findKeptFiles(ctx, view, f); err != nil {
		return nil, err
	}
	return f.bestFiles(r.Limit), nil
}

// findKeptFiles adds the files of a view to a finder.
func (s *Searcher) findKeptFiles(ctx context.Context, view corpus.View, f *fileFinder) error {
	ticket, err := s.admission.Enter(ctx)
	if err != nil {
		return err
	}
	defer ticket.Leave()
	return s.runFileTasks(ctx, ticket, cutFileTasks(view.Segments()), f)
}

// fileTask is a range of the places of a segment.
type fileTask struct {
	segment  *corpus.Segment
	from, to int
}

// taskPlaces bounds the places of a task, which take a few milliseconds.
const taskPlaces = 1 << 16

func cutFileTasks(segments []corpus.Segment) (tasks []fileTask) {
	for i := range segments {
		for from := 0; from < segments[i].Places.Len(); from += taskPlaces {
			tasks = append(tasks, fileTask{&segments[i], from, min(from+taskPlaces, segments[i].Places.Len())})
		}
	}
	return tasks
}

// runFileTasks runs all tasks in this goroutine and in those of idle helpers.
func (s *Searcher) runFileTasks(ctx context.Context, ticket *admission.Ticket, tasks []fileTask, f *fileFinder) error {
	var next atomic.Int64
	work := func(f *fileFinder) error {
		w := ticket.Worker(ctx.Done())
		defer w.End()
		for i := next.Add(1) - 1; i < int64(len(tasks)); i = next.Add(1) - 1 {
			if !f.findFiles(tasks[i], w) {
				return cmp.Or(ctx.Err(), ticket.Err(), context.Canceled)
			}
		}
		return nil
	}
	var group errgroup.Group
	var others []*fileFinder
	for idle := true; idle && len(others) < min(ticket.Processors(), len(tasks))-1; {
		select {
		case s.helpers <- struct{}{}:
			other := f.newHelper()
			others = append(others, other)
			group.Go(func() error {
				defer func() { <-s.helpers }()
				return work(other)
			})
		default:
			idle = false
		}
	}
	err := work(f)
	if err := cmp.Or(err, group.Wait()); err != nil {
		return err
	}
	for _, other := range others {
		f.total, f.kept = f.total+other.total, append(f.kept, other.kept...)
	}
	return nil
}

// fileFinder keeps the files with the highest scores, which it estimates by a quick
// placement of the letters.
type fileFinder struct {
	letters string
	rare    [][2]byte // in both letter cases
	keep    int
	only    string // full name of the only repository to search; empty for all
	repos   []*corpus.Repository
	total   int
	kept    []scoredFile
	floor   scoredFile // last of kept, once kept is full
	full    bool
}

// newHelper returns an empty finder for the same request.
func (f *fileFinder) newHelper() *fileFinder {
	return &fileFinder{letters: f.letters, rare: f.rare, keep: f.keep, only: f.only, repos: f.repos}
}

// findFiles adds the files of a task, and reports whether it reached the end.
func (f *fileFinder) findFiles(t fileTask, w *admission.Worker) bool {
	for i := t.from; i < t.to; i++ {
		if (i-t.from)%fileStep == fileStep-1 && !w.Step() {
			return false
		}
		if path := t.segment.Places.Path(i); t.segment.IsVisible(i) && f.mayMatch(path) {
			f.addFile(t.segment, i, path)
		}
	}
	return true
}

type scoredFile struct {
	score int
	repo  *corpus.Repository
	path  []byte // memory of the view
}

// compareFiles orders files by descending score, then by path length, then by name.
func compareFiles(a, b scoredFile) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(len(a.path), len(b.path)),
		cmp.Compare(a.repo.Name, b.repo.Name), bytes.Compare(a.path, b.path), cmp.Compare(a.repo.ID, b.repo.ID))
}

// lettersByRarity lists letters, rarest in paths first.
const lettersByRarity = "qzjxkywvbghfpudlmcnrotasei"

// rareLetters returns the two letters that exclude the most paths.
func rareLetters(letters string) (rare [][2]byte) {
	for i := range len(lettersByRarity) {
		if c := lettersByRarity[i]; len(rare) < 2 && strings.IndexByte(letters, c) >= 0 {
			rare = append(rare, [2]byte{c, c - 'a' + 'A'})
		}
	}
	return rare
}

// mayMatch reports whether a path contains the rare letters.
func (f *fileFinder) mayMatch(path []byte) bool {
	if len(path) < len(f.letters) {
		return false
	}
	for _, c := range f.rare {
		if bytes.IndexByte(path, c[0]) < 0 && bytes.IndexByte(path, c[1]) < 0 {
			return false
		}
	}
	return true
}

func (f *fileFinder) addFile(seg *corpus.Segment, place int, path []byte) {
	repo := f.repos[seg.Places.Repo[place]]
	if repo == nil || f.only != "" && repo.Name != f.only {
		return
	}
	score, ok := fuzzy.Score(path, f.letters)
	if !ok {
		return
	}
	f.total++
	file := scoredFile{score: score, repo: repo, path: path}
	if f.full && compareFiles(file, f.floor) >= 0 {
		return
	}
	f.kept = append(f.kept, file)
	if len(f.kept) >= 2*f.keep {
		f.keepBest()
	}
}

// keepBest drops all but the best files.
func (f *fileFinder) keepBest() {
	slices.SortFunc(f.kept, compareFiles)
	if len(f.kept) >= f.keep {
		f.kept = f.kept[:f.keep]
		f.floor, f.full = f.kept[f.keep-1], true
	}
}

func (f *fileFinder) bestFiles(limit int) *FoundFiles {
	f.keepBest()
	files := make([]FoundFile, 0, len(f.kept))
	for _, k := range f.kept {
		score, positions := fuzzy.Place(k.path, f.letters)
		files = append(files, FoundFile{Repo: k.repo, Path: strings.ReplaceAll(string(k.path), "\x00", "\n"), Score: score, Positions: positions})
	}
	slices.SortFunc(files, func(a, b FoundFile) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(len(a.Path), len(b.Path)),
			cmp.Compare(a.Repo.Name, b.Repo.Name), strings.Compare(a.Path, b.Path), cmp.Compare(a.Repo.ID, b.Repo.ID))
	})
	return &FoundFiles{Files: files[:min(len(files), limit)], Total: f.total}
}
