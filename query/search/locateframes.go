package search

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/schemas/code"
)

const (
	// MaxFrameFiles bounds the files that a frame of a stack trace may refer to.
	MaxFrameFiles = 20
	// maxFramePlaces bounds the places that are compared with the paths of frames.
	maxFramePlaces = 4 << 20
)

// LocateFrames returns, for each frame of a stack trace, the files that share most of the
// end of its path, among those that a query selects. public is Request.Public.
func (s *Searcher) LocateFrames(ctx context.Context, view corpus.View, c *ShardFrames, public func(*code.Repository) bool) ([]ShardFrameFiles, error) {
	if shards, ok := view.(*shardedView); ok {
		return shards.locateFrames(ctx, c)
	}
	return s.locateFrames(ctx, view, c, Request{Query: c.Query, Public: public})
}

// locateFrames is LocateFrames for a view of this process. The request selects the files.
func (s *Searcher) locateFrames(ctx context.Context, view corpus.View, c *ShardFrames, r Request) ([]ShardFrameFiles, error) {
	frames := c.Frames
	l := &placeLocator{found: make([]ShardFrameFiles, len(frames)), parts: make([][]string, len(frames)), byName: map[string][]int{}}
	for i := range frames {
		if frames[i].Path != "" {
			l.parts[i] = strings.Split(frames[i].Path, "/")
			name := path.Base(frames[i].Path)
			l.byName[name] = append(l.byName[name], i)
		}
	}
	if len(l.byName) == 0 {
		return l.found, nil
	}
	located, err := s.planSearch(ctx, view, r)
	if errors.Is(err, plan.ErrPattern) {
		return l.found, nil
	}
	if err != nil {
		return nil, err
	}
	ticket, err := s.admission.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer ticket.Leave()
	turn := ticket.Worker(ctx.Done())
	defer turn.End()
	l.filter = match.NewPlaceEvaluator(located.scope)
	n := 0
	for _, seg := range located.segments {
		for i := range seg.Places.Len() {
			if n++; n > maxFramePlaces || n%inspectStep == 0 && !turn.Step() {
				return l.found, ctx.Err()
			}
			if seg.IsVisible(i) {
				l.lookAt(seg, i)
			}
		}
	}
	return l.found, nil
}

// placeLocator finds the files whose path ends like that of a frame.
type placeLocator struct {
	parts  [][]string       // of the path of each frame
	byName map[string][]int // frames by the name of their file
	filter match.PlaceEvaluator
	found  []ShardFrameFiles
}

func (l *placeLocator) lookAt(seg corpus.Segment, place int) {
	file := seg.Places.Path(place)
	for _, i := range l.byName[string(file[bytes.LastIndexByte(file, '/')+1:])] {
		repository := l.filter.Scope.Repos[seg.Places.Repo[place]]
		if repository == nil || !l.filter.EvalPlace(l.filter.Scope.Query.Root, seg, place) {
			return
		}
		f := ShardFrameFile{seg.Partition, repository.Name, strings.ReplaceAll(string(file), "\x00", "\n")}
		l.found[i].add(f, sharedParts(l.parts[i], strings.Split(f.Repository+"/"+f.Path, "/")))
	}
}

// add adds a file that shares some parts of the path of a frame.
func (l *ShardFrameFiles) add(f ShardFrameFile, shared int) {
	if shared > l.Shared {
		l.Shared, l.Files = shared, l.Files[:0]
	}
	if shared == l.Shared && len(l.Files) < MaxFrameFiles && !slices.Contains(l.Files, f) {
		l.Files = append(l.Files, f)
	}
}

// sharedParts returns the number of parts that two paths share at their ends.
func sharedParts(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
