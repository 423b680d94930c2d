package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/spelling"
)

// shardedView is a View of several shards, whose segments are elsewhere. It belongs to one
// search at a time.
type shardedView struct {
	shards []*openShard
	repos  []*corpus.Repository // of all shards, by ID
	number map[code.RepositoryID]uint32
	state  ShardState // without the repositories
	read   bool       // callers have read more than the repositories
}

var _ corpus.View = (*shardedView)(nil)

// NewShards opens sessions as one view, for Search and Stream. Release closes the
// sessions. Sessions that cannot be opened are lost; if all are, or if two own the same
// partition, it closes them and returns an error.
func NewShards(ctx context.Context, sessions []Shard) (corpus.View, error) {
	v := &shardedView{number: map[code.RepositoryID]uint32{}}
	owner, err := map[int32]int{}, error(nil)
	for i, s := range sessions {
		v.shards = append(v.shards, &openShard{session: s})
		for _, p := range s.Partitions() {
			if other, taken := owner[p]; taken {
				err = cmp.Or(err, fmt.Errorf("shards %d and %d both have partition %d", other, i, p))
			}
			owner[p] = i
		}
	}
	if err == nil {
		err = v.callEach(ctx, func(int) *ShardCall { return &ShardCall{Open: true} }, func(i int, r *ShardReply) {
			v.shards[i].state = r.Open
			v.repos = append(v.repos, r.Open.Repositories...)
			v.state.Restricted = v.state.Restricted || r.Open.Restricted
			v.state.AsOf = r.Open.AsOf
			v.state.Missing += r.Open.Missing
		})
	}
	if err != nil {
		v.Release()
		return nil, fmt.Errorf("open the sessions of %d shards: %w", len(sessions), err)
	}
	slices.SortFunc(v.repos, func(a, b *corpus.Repository) int { return cmp.Compare(a.ID, b.ID) })
	for i, r := range v.repos {
		v.number[r.ID] = uint32(i)
	}
	return v, nil
}

// Segments implements View. It panics: code that reads segments must not take a view of
// shards for an empty one. Such a view cannot be wrapped, either.
func (v *shardedView) Segments() []corpus.Segment {
	panic("search: the segments of a view of shards are elsewhere")
}

// Repositories implements View.
func (v *shardedView) Repositories() []*corpus.Repository { return v.repos }

// Restricted reports whether the view may hide something: see Restricted.
func (v *shardedView) Restricted() bool { return v.state.Restricted }

// AsOf returns the moment in the past that the view shows; empty for the present.
func (v *shardedView) AsOf() string { return v.state.AsOf }

// MissingDocuments returns the number of documents that refs name and no segment holds.
func (v *shardedView) MissingDocuments() int { return v.state.Missing }

// Release implements View.
func (v *shardedView) Release() {
	for _, s := range v.shards {
		s.session.Close()
	}
}

// Revisions implements View. It calls match for all refs and returns no segments. It fails if
// a shard is lost, because callers conclude from what is not there.
func (v *shardedView) Revisions(ctx context.Context, match func(*corpus.Repository, code.Ref) bool) ([]corpus.Segment, []code.Ref, error) {
	refs := make([][]ShardRef, len(v.shards))
	err := v.callEach(ctx, func(int) *ShardCall { return &ShardCall{Refs: true} }, func(i int, r *ShardReply) { refs[i] = r.Refs })
	if lost := v.lostPartitions(); err == nil && lost != nil {
		err = fmt.Errorf("%w: the refs of the partitions %v are not known", ErrShardLost, lost)
	}
	for _, ref := range slices.Concat(refs...) {
		if n, ok := v.number[ref.Repository]; ok {
			match(v.repos[n], ref.Ref)
		}
	}
	return nil, nil, err
}

// callEach sends a call to each shard, in parallel, and passes the replies to take, one at
// a time. A nil call is not sent. A shard that cannot be reached is lost: later calls leave
// it out, and the search reports that it is not complete. So is one that does not answer
// within maxStepTime, or with something else. The error is that of a shard that refuses the
// call, that of ctx, ErrUnavailable if all shards are lost, or errShardMoved.
func (v *shardedView) callEach(ctx context.Context, call func(shard int) *ShardCall, take func(shard int, r *ShardReply)) error {
	within, cancel := context.WithTimeoutCause(ctx, maxStepTime, ErrShardLost)
	defer cancel()
	return v.callEachWithin(within, call, take)
}

// callEachWithin is callEach with the time of ctx, whose cause is ErrShardLost when it is over.
func (v *shardedView) callEachWithin(ctx context.Context, call func(shard int) *ShardCall, take func(shard int, r *ShardReply)) error {
	var mu sync.Mutex
	moved := false
	g, gctx := errgroup.WithContext(ctx)
	for i, s := range v.shards {
		c := call(i)
		if s.lost != nil || c == nil {
			continue
		}
		g.Go(func() error {
			r, opened, err := s.sendCall(gctx, c)
			mu.Lock()
			defer mu.Unlock()
			if opened != nil {
				v.replaceState(s, opened)
			}
			switch {
			case err == nil:
				take(i, r)
			case errors.Is(err, errShardMoved):
				moved = true // the others complete the step: a call that is canceled ends its session
			case errors.Is(err, ErrShardLost):
				s.lost = err
			case errors.Is(context.Cause(ctx), ErrShardLost):
				s.lost = fmt.Errorf("%w: %w", ErrShardLost, err) // the time for the call is over
			default:
				return err
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if moved {
		return errShardMoved
	}
	if slices.ContainsFunc(v.shards, func(s *openShard) bool { return s.lost == nil }) {
		return nil
	}
	if len(v.shards) == 0 {
		return fmt.Errorf("%w: there are no shards", ErrUnavailable)
	}
	return fmt.Errorf("%w: no shard answers: %w", ErrUnavailable, v.shards[0].lost)
}

// maxStepTime is the time after which a shard is lost in a step outside of a search: it may
// first wait for its turn, and a search has a time limit instead.
const maxStepTime = 15 * time.Second

// ErrShardLost means that a shard cannot be reached, or did not answer in time.
var ErrShardLost = errors.New("shard is lost")

// lostPartitions returns the partitions of the lost shards, ascending.
func (v *shardedView) lostPartitions() (lost []int32) {
	for _, s := range v.shards {
		if s.lost != nil {
			lost = append(lost, s.session.Partitions()...)
		}
	}
	slices.Sort(lost)
	return lost
}

// LostPartitions returns the partitions, ascending, whose shards are lost to a view up to now.
// There are none in a view of this process.
func LostPartitions(v corpus.View) []int32 {
	if shards, ok := v.(*shardedView); ok {
		return shards.lostPartitions()
	}
	return nil
}

// nearNames returns the names near a word. There are fewer on an error.
func (v *shardedView) nearNames(ctx context.Context, c *ShardNames) []ShardNearName {
	all, blocks := map[string]ShardNearName{}, 0
	err := v.callEach(ctx, func(int) *ShardCall { return &ShardCall{Names: c} }, func(_ int, r *ShardReply) {
		blocks += r.Names.Blocks
		for _, n := range r.Names.Names {
			n.Count += all[n.Name].Count
			all[n.Name] = n
		}
	})
	if err != nil || c.InText && blocks > match.MaxTextBlocks || !c.InText && c.MaxErrors > 1 && blocks > match.MaxSymbolBlocks {
		return nil
	}
	return slices.Collect(maps.Values(all))
}

// mayBeNamed reports whether the name of a file may contain all words.
func (v *shardedView) mayBeNamed(ctx context.Context, words []string) (may bool) {
	err := v.callEach(ctx, func(int) *ShardCall { return &ShardCall{Named: words} }, func(_ int, r *ShardReply) { may = may || r.Named })
	return may && err == nil
}

// findFiles adds the files of all shards to a finder.
func (v *shardedView) findFiles(ctx context.Context, f *fileFinder) error {
	c := &ShardLetters{f.letters, f.only, f.keep}
	return v.callEach(ctx, func(int) *ShardCall { return &ShardCall{Letters: c} }, func(_ int, r *ShardReply) {
		f.total += r.Found.Total
		for _, k := range r.Found.Files {
			if n, ok := v.number[k.Repository]; ok {
				f.kept = append(f.kept, scoredFile{k.Score, v.repos[n], k.Path})
			}
		}
	})
}

// locateFrames returns the files of frames.
func (v *shardedView) locateFrames(ctx context.Context, c *ShardFrames) ([]ShardFrameFiles, error) {
	found := make([]ShardFrameFiles, len(c.Frames))
	err := v.callEach(ctx, func(int) *ShardCall { return &ShardCall{Frames: c} }, func(_ int, r *ShardReply) {
		for i, l := range r.Frames[:min(len(r.Frames), len(found))] {
			if l.Shared > found[i].Shared {
				found[i] = ShardFrameFiles{Shared: l.Shared}
			}
			if l.Shared == found[i].Shared {
				found[i].Files = append(found[i].Files, l.Files...)
			}
		}
	})
	for i := range found {
		slices.SortStableFunc(found[i].Files, func(a, b ShardFrameFile) int { return cmp.Compare(a.Partition, b.Partition) })
		found[i].Files = found[i].Files[:min(len(found[i].Files), MaxFrameFiles)]
	}
	return found, err
}

// placesCall returns the call for facts about the places that the notices of a search
// need.
func (v *shardedView) placesCall(in *noticeFinder, near string) func(int) *ShardCall {
	c := &ShardPlaces{Query: in.query, Empty: in.empty, All: in.count == 0, Restricted: in.scope.Restricted, Near: near}
	return func(int) *ShardCall { return &ShardCall{Places: c} }
}

// summarizePlaces summarizes the places of all shards.
func (v *shardedView) summarizePlaces(ctx context.Context, in *noticeFinder) *placeSummary {
	s := in.newPlaceSummary()
	s.known = true
	err := v.callEach(ctx, v.placesCall(in, ""), func(_ int, r *ShardReply) {
		f := r.Places
		s.files += f.Files
		for _, name := range f.Languages {
			s.languages[name] = true
		}
		for i, matched := range f.Matched[:min(len(f.Matched), len(s.matched))] {
			s.matched[i] = s.matched[i] || matched
		}
		s.satisfiable, s.symbols, s.known = s.satisfiable || f.Satisfiable, s.symbols || f.Symbols, s.known && f.Known
	})
	s.known = s.known && err == nil && v.lostPartitions() == nil
	return s
}

// placeFacts returns the summary of the places of one shard.
func (in *noticeFinder) placeFacts() *ShardPlaceFacts {
	s := in.summarizePlaces()
	return &ShardPlaceFacts{
		Files: s.files, Languages: slices.Sorted(maps.Keys(s.languages)), Matched: s.matched,
		Satisfiable: s.satisfiable, Symbols: s.symbols, Known: s.known,
	}
}

// nearPaths returns the paths near a word.
func (v *shardedView) nearPaths(ctx context.Context, in *noticeFinder, word string) []string {
	var all []string
	err := v.callEach(ctx, v.placesCall(in, word), func(_ int, r *ShardReply) { all = append(all, r.Places.Near...) })
	if err != nil {
		return nil
	}
	return spelling.Nearest(strings.Trim(word, "/"), slices.Values(all), syntax.MaxSuggestions)
}
