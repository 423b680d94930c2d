package server

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/seedtest"
)

// A hiddenDoor is a way to ask for a word. page is set for pages, whose path has the word
// as {word}; else the request is a POST of a body, or a GET without one. {begin} is the
// position of the event stream before the repositories were registered.
type hiddenDoor struct{ name, path, body, page string }

var hiddenDoors = []hiddenDoor{
	{name: "search", path: "/api/search", body: `{"query":"{word} or common","matches":100,"explain":true,"facets":true,"whole":true}`},
	{name: "search for nothing else", path: "/api/search", body: `{"query":"DB_PASSWORD={word}","matches":10,"explain":true}`},
	{name: "search for a prefix", path: "/api/search", body: `{"query":"DB_PASSWORD={prefix}","matches":10,"explain":true}`},
	{name: "search by expression", path: "/api/search", body: `{"query":"regex:PASSWORD=.*{prefix}","matches":10,"explain":true}`},
	{name: "search of branches", path: "/api/search", body: `{"query":"{word} rev:*","matches":10,"explain":true}`},
	{name: "search for symbols", path: "/api/search", body: `{"query":"sym:{word}","matches":10,"explain":true}`},
	{name: "search for a misspelt symbol", path: "/api/search", body: `{"query":"sym:{word}x","matches":10,"explain":true}`},
	{name: "search by path", path: "/api/search", body: `{"query":"file:{word}","matches":10,"explain":true}`},
	{name: "stream", path: "/api/stream_search", body: `{"query":"{word} or common","matches":100,"facets":true}`},
	{name: "files", path: "/api/find_files?query={word}"},
	{name: "definitions", path: "/api/find_definitions", body: `{"symbolName":"{word}"}`},
	{name: "references", path: "/api/find_references", body: `{"symbolName":"{word}"}`},
	{name: "implementations", path: "/api/find_implementations", body: `{"symbolName":"{word}"}`},
	{name: "hover", path: "/api/hover", body: `{"symbolName":"{word}"}`},
	{name: "tool search", path: "/api/mcp", body: `{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"search","arguments":{"query":"{word}"}}}`},
	{name: "tool grep", path: "/api/mcp", body: `{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"grep","arguments":{"pattern":"{word}"}}}`},
	{name: "tool glob", path: "/api/mcp", body: `{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"glob","arguments":{"pattern":"**/{word}*"}}}`},
	{name: "tool definitions", path: "/api/mcp", body: `{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"find_symbol_definitions","arguments":{"symbol":"{word}"}}}`},
	{name: "page", page: "/search?q={word}&explain=1"},
	{name: "repositories", path: "/api/repos?query={word}"},
	{name: "events", path: "/api/events?follow=false&since={begin}"},
}

// hiddenCallers are the roles that ask: each sees one repository of all.
var hiddenCallers = []string{"anonymous", "member", "key of a member for what they may not see"}

// A hiddenPair is two servers with the same repositories, except that the hidden ones
// contain other words.
type hiddenPair struct {
	worlds [2]*seenWorld
	words  [2][]string // of the hidden repositories of each
}

func newHiddenPair(t *testing.T, rng *rand.Rand, hidden int) *hiddenPair {
	p := &hiddenPair{}
	public := writeSecret(t, "qzpub")
	for i := range p.worlds {
		repositories, order := map[string]*written{"qzpub": public}, []string{}
		for k := range hidden {
			mark := fmt.Sprintf("qzhid%02d", k)
			g := writeSecret(t, mark)
			word := randomWord(rng)
			p.words[i] = append(p.words[i], word)
			g.head = g.commitFiles("conf/"+word+".go", fmt.Sprintf("package conf\n\n// DB_PASSWORD=%[1]s\nfunc %[1]s() { common() }\n", word))
			repositories[mark], order = g, append(order, mark)
		}
		p.worlds[i] = newSeenWorld(t, repositories, slices.Insert(order, 1, "qzpub")...)
	}
	// The servers do not know the decisions of the test, so merges mix all repositories.
	// The public one is among the oldest, which the first merge takes.
	for _, w := range p.worlds {
		waitUntil(t, func() bool {
			v := w.server.versions.Live().Places.Acquire()
			defer v.Release()
			return !slices.ContainsFunc(v.SegmentInfos(), func(s places.SegmentInfo) bool {
				return slices.Contains(s.Origins, public.ID) && len(s.Origins) == 1
			})
		})
	}
	return p
}

// randomWord returns a word that no other text contains.
func randomWord(rng *rand.Rand) string {
	word := make([]byte, 10)
	for i := range word {
		word[i] = "bcdfghjklmnpqrstvwxz"[rng.IntN(20)]
	}
	return string(word)
}

// ask requests a word through a door, and returns the answer without the word, what the
// searches did, and the time.
func (p *hiddenPair) ask(t *testing.T, world int, caller string, d *hiddenDoor, word string) (answer any, work string, took time.Duration) {
	w := p.worlds[world]
	begin := w.beforeEvents.Position()
	fill := strings.NewReplacer("{word}", word, "{prefix}", word[:5], "{begin}", url.QueryEscape(begin)).Replace
	before := w.countWork(t)
	started := time.Now()
	var text string
	switch {
	case d.page != "":
		rec := w.sendPageRequest(caller, htmlPage, fill(d.page))
		took = time.Since(started)
		text = visibleResponse(rec, word, word[:5]) + headersOf(rec.Header())
	default:
		method := "GET"
		if d.body != "" {
			method = "POST"
		}
		rec := w.sendRequest(caller, method, fill(d.path), fill(d.body))
		took = time.Since(started)
		text = visibleResponse(rec, word, word[:5]) + headersOf(rec.Header())
		if counted.MatchString(text) {
			t.Errorf("%s as %s counts work: %s", d.name, caller, counted.FindString(text))
		}
	}
	after := w.countWork(t)
	for name, n := range before {
		after[name] -= n
	}
	return withoutTimes(t, eventTime.ReplaceAllString(text, "$1")), fmt.Sprint(after), took
}

// eventTime matches the times of an event of a repository that the caller may see.
var eventTime = regexp.MustCompile(`("(?:at|pushedAt)":")[^"]*`)

// headersOf returns the headers of a response that may differ.
func headersOf(h map[string][]string) string {
	all := maps.Clone(h)
	for _, name := range []string{"Date", "Content-Length", "Mcp-Session-Id", "Etag"} {
		delete(all, name)
	}
	return fmt.Sprint(all)
}

// countWork returns the counters of the searches of a world that do not count time.
func (w *seenWorld) countWork(t *testing.T) map[string]float64 {
	families, err := w.searches.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		switch f.GetName() {
		case "quarry_search_scanned_bytes_total", "quarry_search_index_bytes_total", "quarry_search_files_loaded_total":
			for _, m := range f.GetMetric() {
				out[f.GetName()] += m.GetCounter().GetValue()
			}
		}
	}
	return out
}

// TestHiddenWordsCannotBeTold asks for words of hidden repositories, at a server that has
// them and at one that has others, as each kind of caller and through each door. Answers,
// headers and the work of the searches must be equal. With QUARRY_DISTINGUISH=N, it asks N
// times through each door, with 30 hidden repositories, and tries to tell the servers apart
// by time: it prints the best classifier for each door and caller.
func TestHiddenWordsCannotBeTold(t *testing.T) {
	t.Parallel()
	rounds, hidden := 3, 9
	if s := os.Getenv("QUARRY_DISTINGUISH"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("QUARRY_DISTINGUISH: %v", err)
		}
		rounds, hidden = n, 30
	}
	seed := seedtest.ChooseSeed(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	p := newHiddenPair(t, rng, hidden)
	for _, caller := range hiddenCallers {
		for i := range hiddenDoors {
			d := &hiddenDoors[i]
			var times [2][]float64 // absent, present
			for range rounds {
				of := rng.IntN(2) // the world that has the word
				word := p.words[of][rng.IntN(hidden)]
				var answers [2]any
				var works [2]string
				for _, world := range rng.Perm(2) {
					present := 0
					if world == of {
						present = 1
					}
					var took time.Duration
					answers[present], works[present], took = p.ask(t, world, caller, d, word)
					times[present] = append(times[present], took.Seconds())
				}
				if !reflect.DeepEqual(answers[0], answers[1]) {
					t.Fatalf("seed %d, %s as %s, %q: the answer tells\n%v\nfrom\n%v", seed, d.name, caller, word, answers[1], answers[0])
				}
				if works[0] != works[1] {
					t.Fatalf("seed %d, %s as %s, %q: the work tells %s from %s", seed, d.name, caller, word, works[1], works[0])
				}
			}
			if rounds >= 100 {
				how, share := bestClassifier(times[0], times[1])
				t.Logf("%s as %s, %d pairs: the best classifier by time is the %s, right for %.3f of the answers", d.name, caller, rounds, how, share)
				if most := maxShare(rounds); share >= most {
					t.Errorf("seed %d, %s as %s: the %s tells the servers apart in %.3f of the answers, want less than %.3f; repeat it with make distinguish SEED=%d N=%d", seed, d.name, caller, how, share, most, seed, rounds)
				}
			}
		}
	}
}

// maxShare returns the share of right answers that fails the test: 0.55, or three standard
// deviations above guessing if there are too few pairs. A classifier judges blocks of four.
func maxShare(pairs int) float64 {
	blocks := float64(2*pairs) / 4
	return 0.5 + max(0.05, 3*0.5/math.Sqrt(blocks))
}

// TestBestClassifier checks that the classifiers find a difference in the mean, in the
// slowest answers and in the fastest ones, and none in equal distributions.
func TestBestClassifier(t *testing.T) {
	t.Parallel()
	const n = 2000
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(slower func(i int, x float64) float64) (times []float64) {
		for i := range n {
			times = append(times, slower(i, 1+rng.ExpFloat64()))
		}
		return times
	}
	same := func(_ int, x float64) float64 { return x }
	if how, share := bestClassifier(draw(same), draw(same)); share >= maxShare(n) {
		t.Errorf("the %s tells equal distributions apart in %.3f of the answers, want less than %.3f", how, share, maxShare(n))
	}
	for name, slower := range map[string]func(int, float64) float64{
		"all are slower by one half":        func(_ int, x float64) float64 { return x + .5 },
		"one in four takes three times":     func(i int, x float64) float64 { return x * float64(1+2*(i%4/3)) },
		"the fastest are a little slower":   func(_ int, x float64) float64 { return max(x, 1.2) },
		"the first half is as fast as ever": func(i int, x float64) float64 { return x + float64(i%2) },
	} {
		if how, share := bestClassifier(draw(same), draw(slower)); share < .6 {
			t.Errorf("%s: the best classifier is the %s, right for %.3f of the answers, want at least 0.6", name, how, share)
		}
	}
}

// bestClassifier returns the classifier by time that tells two lists apart best. Each
// compares one time, or a statistic of some, with a threshold that it learns from one half
// of the lists, and is judged by the other.
func bestClassifier(absent, present []float64) (name string, share float64) {
	statistics := map[string]func([]float64) float64{
		"mean":     func(s []float64) float64 { return sum(s) / float64(len(s)) },
		"minimum":  slices.Min[[]float64],
		"quartile": func(s []float64) float64 { return quantile(s, .25) },
		"median":   func(s []float64) float64 { return quantile(s, .5) },
		"90 %":     func(s []float64) float64 { return quantile(s, .9) },
	}
	for name1, f := range statistics {
		for _, size := range []int{1, 4} {
			a, b := reduceBlocks(absent, size, f), reduceBlocks(present, size, f)
			right := judgeThreshold(a[:len(a)/2], b[:len(b)/2], a[len(a)/2:], b[len(b)/2:])
			right += judgeThreshold(a[len(a)/2:], b[len(b)/2:], a[:len(a)/2], b[:len(b)/2])
			if s := right / float64(len(a)+len(b)); s > share {
				name, share = fmt.Sprintf("%s of %d", name1, size), s
			}
		}
	}
	return name, share
}

// reduceBlocks applies a statistic to blocks of successive times.
func reduceBlocks(times []float64, size int, f func([]float64) float64) (out []float64) {
	for block := range slices.Chunk(times, size) {
		out = append(out, f(block))
	}
	return out
}

// judgeThreshold learns the threshold that separates a from b best, and returns how many
// of testA and testB it puts on the right side.
func judgeThreshold(a, b, testA, testB []float64) float64 {
	sign, threshold, best := 1.0, 0.0, -1
	for _, s := range []float64{1, -1} {
		for q := .02; q < 1; q += .02 {
			at := quantile(append(slices.Clone(a), b...), q)
			right := 0
			for _, x := range a {
				if s*x < s*at {
					right++
				}
			}
			for _, x := range b {
				if s*x >= s*at {
					right++
				}
			}
			if right > best {
				sign, threshold, best = s, at, right
			}
		}
	}
	right := 0
	for _, x := range testA {
		if sign*x < sign*threshold {
			right++
		}
	}
	for _, x := range testB {
		if sign*x >= sign*threshold {
			right++
		}
	}
	return float64(right)
}

func sum(s []float64) (total float64) {
	for _, x := range s {
		total += x
	}
	return total
}

func quantile(s []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(s))
	return sorted[int(math.Min(q*float64(len(sorted)), float64(len(sorted)-1)))]
}
