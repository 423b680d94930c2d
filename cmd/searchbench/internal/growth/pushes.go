package growth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
)

const (
	// pushedName is the name of the repository that receives the pushes.
	pushedName = "pushed"
	// endPushes is the number of pushes that are summarized at each end of the history.
	endPushes = 200
	// minEditedBytes and maxEditedBytes bound the files that are edited: ordinary
	// sources.
	minEditedBytes, maxEditedBytes = 2 << 10, 64 << 10
	// pushPoll is the pause between two queries for a word.
	pushPoll = 2 * time.Millisecond
	// logEvery is the number of pushes between two progress messages.
	logEvery = 500
	// lookEvery is the number of pushes between two checks of the number of segments.
	lookEvery = 20
)

// history is a repository with a commit for each push.
type history struct {
	dir     string
	commits []string // the first one is the imported tree
	words   []string // words[i] was added by commits[i+1]
	// changedBytes is the size of the files that the first n pushes changed.
	changedBytes int64
}

// writeHistory creates a repository with n pushes of one file each. The first pushes
// count towards changedBytes.
func (g *growth) writeHistory(ctx context.Context, n, first int) (*history, error) {
	h := &history{dir: filepath.Join(g.repositoriesDir(), pushedName+".git")}
	edited := slices.DeleteFunc(slices.Clone(g.base.files), func(f file) bool {
		return len(f.content) < minEditedBytes || len(f.content) > maxEditedBytes
	})
	if len(edited) == 0 {
		return nil, fmt.Errorf("no file of %d to %d bytes to edit", minEditedBytes, maxEditedBytes)
	}
	write := func(c *corpus.Commits) {
		c.Begin("all")
		for _, f := range g.base.files {
			c.File(f.path, f.content)
		}
		h.writeEdits(c, edited, n, first)
	}
	if _, ok := g.readDone(h.dir); ok {
		h.writeEdits(nil, edited, n, first)
	} else if err := corpus.WriteRepository(ctx, h.dir, write); err != nil {
		return nil, err
	} else if err := markDone(h.dir, h.changedBytes); err != nil {
		return nil, err
	}
	// An earlier run may have moved the branch.
	ids, err := corpus.History(ctx, h.dir, corpus.LastRef)
	if err == nil && len(ids) != n+1 {
		err = fmt.Errorf("%s has %d commits, want %d: made for another number of pushes", h.dir, len(ids), n+1)
	}
	h.commits = ids
	return h, err
}

// writeEdits writes the commits of n pushes. If c is nil, it only computes their words
// and sizes.
func (h *history) writeEdits(c *corpus.Commits, edited []file, n, first int) {
	for i := range n {
		f := &edited[i*7919%len(edited)]
		word := fmt.Sprintf("growth_push_%06d_word", i)
		f.content = append(slices.Clip(f.content), "\n// "+word+"\n"...)
		if c != nil {
			c.Begin(word)
			c.File(f.path, f.content)
		}
		h.words = append(h.words, word)
		if i < first {
			h.changedBytes += int64(len(f.content))
		}
	}
}

// moveBranch sets the branch of the repository to the commit of the n-th push, as a push
// to the host does.
func (h *history) moveBranch(n int) error {
	ref := filepath.Join(h.dir, "refs", "heads", corpus.Branch)
	if err := os.WriteFile(ref+".new", []byte(h.commits[n]+"\n"), 0o644); err != nil {
		return err
	}
	return os.Rename(ref+".new", ref)
}

// deliverPush announces the n-th push, counted from 0, to a server and waits until its
// word is found.
func (h *history) deliverPush(ctx context.Context, s *engine.QuarryServer, n int) (time.Duration, error) {
	start := time.Now()
	if err := s.Push(ctx, pushedName, "refs/heads/"+corpus.Branch, h.commits[n], h.commits[n+1]); err != nil {
		return 0, err
	}
	err := engine.AwaitWord(ctx, s, h.words[n], pushPoll)
	return time.Since(start), err
}

// pushFigures holds the times from delivery until the word is found.
type pushFigures struct {
	aging
	aged, fresh []time.Duration // pushed in turn
}

// aging holds the observations during the pushes. It is kept in a file, so that an
// interrupted run can be resumed.
type aging struct {
	Times       []time.Duration
	MaxSegments float64
	// WrittenBytes is the number of bytes that the server wrote to the disk. Counters are
	// its counters. Both include the import and add up all runs.
	WrittenBytes int64
	Counters     map[string]float64
}

// countersOfAging lists the counters that are added up over the servers of all runs.
// Counters with a label are listed by prefix.
var countersOfAging = []string{
	"quarry_indexer_text_bytes_total", "quarry_indexer_segment_bytes_total", "quarry_compactor_output_bytes_total",
	"quarry_compactor_output_segment_bytes_total", "quarry_compactor_merges_total", "quarry_embeddedlog_appended_bytes_total", "quarry_store_written_bytes_total{",
}

func (a *aging) addCounters(m map[string]float64) {
	if a.Counters == nil {
		a.Counters = map[string]float64{}
	}
	for name, n := range m {
		if slices.ContainsFunc(countersOfAging, func(c string) bool { return name == c || strings.HasSuffix(c, "{") && strings.HasPrefix(name, c) }) {
			a.Counters[name] += n
		}
	}
}

func (g *growth) agingPath() string { return filepath.Join(g.dataPath("aged"), ".growth-aging") }

// readAging returns the state of an earlier run.
func (g *growth) readAging() (a aging) {
	b, err := os.ReadFile(g.agingPath())
	if err != nil || !g.Reuse || json.Unmarshal(b, &a) != nil {
		return aging{}
	}
	return a
}

func (g *growth) writeAging(a *aging) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return os.WriteFile(g.agingPath(), b, 0o644)
}

// measurePushes ages one server with pushes, builds another from the resulting state, and
// compares the two.
func (g *growth) measurePushes(ctx context.Context) error {
	h, err := g.writeHistory(ctx, g.Pushes+g.ComparedPushes, g.Pushes)
	if err != nil {
		return err
	}
	aged := &stage{name: "after the pushes", data: g.dataPath("aged"), repositories: 1, textBytes: g.base.bytes}
	fresh := &stage{name: "fresh build", data: g.dataPath("fresh"), repositories: 1, textBytes: g.base.bytes}
	defer g.stopServer(aged)
	defer g.stopServer(fresh)
	var f pushFigures
	if err := g.ageServer(ctx, h, aged, &f); err != nil {
		return err
	}
	if err := g.importAt(ctx, h, fresh, g.Pushes); err != nil {
		return err
	}
	stages := []*stage{aged, fresh}
	kinds := append(slices.Clone(g.kinds), questionKind{"words of pushes", wordsOf(h, g.Pushes)})
	if err := g.askAll(ctx, kinds, stages, g.Rounds); err != nil {
		return err
	}
	for _, s := range stages {
		if err := g.readState(ctx, s); err != nil {
			return err
		}
	}
	for n := range g.ComparedPushes {
		if err := g.pushBoth(ctx, h, g.Pushes+n, stages, &f); err != nil {
			return err
		}
	}
	g.report.Tables = append(g.report.Tables, g.pushTable(h, &f), stageTable("After the pushes against a fresh build", kinds, stages))
	return nil
}

func wordsOf(h *history, pushes int) []engine.Request {
	var requests []engine.Request
	for _, word := range pickEvenly(h.words[:pushes], questionsOfKind) {
		requests = append(requests, engine.Request{Text: word, Limit: firstMatches})
	}
	return requests
}

// importAt imports the repository in its state after n pushes.
func (g *growth) importAt(ctx context.Context, h *history, s *stage, n int) error {
	if err := os.RemoveAll(s.data); err != nil {
		return err
	}
	if err := h.moveBranch(n); err != nil {
		return err
	}
	if err := g.startServer(ctx, s); err != nil {
		return err
	}
	if _, err := s.server.Index(ctx, map[string]string{pushedName: h.dir}); err != nil {
		return err
	}
	return g.waitSettled(ctx, s)
}

// ageServer imports the repository and pushes to it. It resumes an earlier run.
func (g *growth) ageServer(ctx context.Context, h *history, s *stage, f *pushFigures) (err error) {
	if f.aging = g.readAging(); len(f.Times) > 0 {
		err = g.startServer(ctx, s)
	} else {
		err = g.importAt(ctx, h, s, 0)
	}
	if err != nil {
		return err
	}
	before := s.server.WrittenBytes()
	for n := len(f.Times); n < g.Pushes && err == nil; n++ {
		err = g.pushAged(ctx, h, s, f, n)
	}
	f.WrittenBytes += s.server.WrittenBytes() - before
	if err == nil {
		err = g.waitSettled(ctx, s)
	}
	// Do this even if ctx has ended, because the next run resumes from here.
	m, metricsErr := s.server.Metrics(context.WithoutCancel(ctx))
	f.addCounters(m)
	return errors.Join(err, metricsErr, g.writeAging(&f.aging))
}

// pushAged makes the n-th push to the aged server.
func (g *growth) pushAged(ctx context.Context, h *history, s *stage, f *pushFigures, n int) error {
	if err := h.moveBranch(n + 1); err != nil {
		return err
	}
	took, err := h.deliverPush(ctx, s.server, n)
	if err != nil {
		return err
	}
	f.Times = append(f.Times, took)
	if n%lookEvery == 0 {
		m, err := s.server.Metrics(ctx)
		if err != nil {
			return err
		}
		f.MaxSegments = max(f.MaxSegments, m["quarry_places_segments"])
	}
	if (n+1)%logEvery == 0 {
		g.Log("%d pushes, the last %d in %s each", n+1, logEvery, stat.Median(f.Times[n+1-logEvery:]))
	}
	return nil
}

// pushBoth delivers one more push to both servers, one after the other. The servers take
// turns in being first.
func (g *growth) pushBoth(ctx context.Context, h *history, n int, stages []*stage, f *pushFigures) error {
	if err := h.moveBranch(n + 1); err != nil {
		return err
	}
	figures := []*[]time.Duration{&f.aged, &f.fresh}
	for turn := range stages {
		i := (turn + n) % len(stages)
		took, err := h.deliverPush(ctx, stages[i].server, n)
		if err != nil {
			return fmt.Errorf("%s: %w", stages[i].name, err)
		}
		*figures[i] = append(*figures[i], took)
	}
	return nil
}

// kindNames returns the classes of kinds, for logs.
func kindNames(kinds []questionKind) string {
	var out []string
	for _, k := range kinds {
		out = append(out, fmt.Sprintf("%s (%d)", k.name, len(k.requests)))
	}
	return strings.Join(out, ", ")
}
