package compactor

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestPolicy runs the scripts in testdata/policy. Their lines are "name[*count] text
// [docs=n] [live=text] [dead=n] [removed=second] [whole] [full] [lost] [stuck]", oldest
// first; purge is called at second 100.
func TestPolicy(t *testing.T) {
	datadriven.RunTest(t, "testdata/policy", func(t *testing.T, d *datadriven.TestData) string {
		p := Policy{}
		if d.HasArg("max") {
			p.MaxTextBytes = parseBytes(t, argument(t, d, "max"))
		}
		p.ensureDefaults()
		switch d.Cmd {
		case "tiers":
			return describeTiers(p)
		case "choose":
			segments, names := parseSegments(t, d.Input)
			return describePlan(p.choosePlan(segments), names)
		case "purge":
			segments, names := parseSegments(t, d.Input)
			return describePlan(plan{p.purgeInputs(segments, time.Unix(100, 0)), reasonPurge}, names)
		case "quiet":
			segments, names := parseSegments(t, d.Input)
			return describePlan(plan{p.quietInputs(segments), reasonQuiet}, names)
		case "quiet-class": // at 100 s, after 10 s
			segments, names := parseSegments(t, d.Input)
			inputs, next := p.quietClass(segments, 10*time.Second, time.Unix(100, 0))
			if out := describePlan(plan{inputs, reasonQuiet}, names); next.IsZero() {
				return out
			} else {
				return fmt.Sprintf("%snext at %d\n", out, next.Unix())
			}
		case "needs-classes":
			segments, _ := parseSegments(t, d.Input)
			return fmt.Sprintf("%t, %t if it is time for quiet merges\n", p.needsClasses(segments, false), p.needsClasses(segments, true))
		}
		t.Fatalf("unknown command %q", d.Cmd)
		return ""
	})
}

func argument(t *testing.T, d *datadriven.TestData, name string) (value string) {
	d.ScanArgs(t, name, &value)
	return value
}

func describeTiers(p Policy) string {
	var b strings.Builder
	for size, last := int64(0), -1; last < p.Tiers(); size = max(2*size, 1) {
		if n := p.tierForSize(size); n != last {
			fmt.Fprintf(&b, "%d from %d\n", n, size)
			last = n
		}
	}
	return b.String()
}

func describePlan(p plan, names map[*entry]string) string {
	if len(p.inputs) == 0 {
		return "nothing\n"
	}
	words := []string{p.reason + ":"}
	for _, e := range p.inputs {
		words = append(words, names[e])
	}
	return strings.Join(words, " ") + "\n"
}

func parseSegments(t *testing.T, input string) (segments []*entry, names map[*entry]string) {
	names = map[*entry]string{}
	for line := range strings.Lines(input) {
		fields := strings.Fields(line)
		name, count, many := strings.Cut(fields[0], "*")
		n := 1
		if many {
			n = int(parseBytes(t, count))
		}
		for i := range n {
			e := parseSegment(t, fields[1:])
			if names[e] = name; many {
				names[e] = name + strconv.Itoa(i+1)
			}
			segments = append(segments, e)
		}
	}
	return segments, names
}

func parseSegment(t *testing.T, fields []string) *entry {
	e := &entry{ref: event.SegmentRef{TextBytes: parseBytes(t, fields[0]), Documents: 1}, liveBytes: -1}
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		switch key {
		case "docs":
			e.ref.Documents = int(parseBytes(t, value))
		case "live":
			e.liveBytes = parseBytes(t, value)
		case "whole":
			e.keepAll = true
		case "full":
			e.mergeAlone = true
		case "lost":
			e.lost = true
		case "dead":
			e.deadDocuments = int(parseBytes(t, value))
		case "removed":
			e.removedAt = time.Unix(parseBytes(t, value), 0)
		case "erase":
			e.eraseNow = true
		case "class":
			e.class, e.classUnknown = value, value == "?"
		case "arrived":
			e.arrivedAt = time.Unix(parseBytes(t, value), 0)
		case "stuck":
			e.rewriteDroppedNone = true
		default:
			t.Fatalf("unknown word %q", f)
		}
	}
	return e
}

func parseBytes(t *testing.T, s string) int64 {
	unit := 0
	for suffix, shift := range map[string]int{"K": 10, "M": 20} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = rest, shift
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << unit
}

// world is a partition whose merges take effect immediately, without text: segments are
// lists of documents that die.
type world struct {
	t        *testing.T
	rng      *rand.Rand
	policy   Policy
	segments []*entry
	content  map[*entry][]*fakeDocument
	alive    []*fakeDocument
	// ingested and written are sizes as counted by the policy.
	ingested, written int64
	merges            int
}

type fakeDocument struct {
	text int64
	dead bool
}

func (w *world) add(documents []*fakeDocument) *entry {
	e := &entry{liveBytes: -1, ref: event.SegmentRef{Documents: len(documents)}}
	for _, d := range documents {
		e.ref.TextBytes += d.text
	}
	w.segments = append(w.segments, e)
	w.content[e] = documents
	return e
}

// push adds a segment of a random size: most are small, some are imports.
func (w *world) push() {
	documents := make([]*fakeDocument, 1+w.rng.IntN(1<<w.rng.IntN(7)))
	for i := range documents {
		documents[i] = &fakeDocument{text: w.rng.Int64N(min(1<<w.rng.IntN(19), w.policy.MaxTextBytes/int64(len(documents))+1))}
	}
	w.alive = append(w.alive, documents...)
	w.ingested += w.add(documents).tierSize()
}

// killDocuments makes n of the live documents dead.
func (w *world) killDocuments(n int) {
	for range min(n, len(w.alive)) {
		i := w.rng.IntN(len(w.alive))
		w.alive[i].dead = true
		w.alive[i] = w.alive[len(w.alive)-1]
		w.alive = w.alive[:len(w.alive)-1]
	}
}

// updateLiveness sets which documents of the segments are live, as a View does.
func (w *world) updateLiveness() {
	for _, e := range w.segments {
		e.liveBytes = 0
		for _, d := range w.content[e] {
			if !d.dead {
				e.liveBytes += d.text
			}
		}
	}
}

func (w *world) mergeAll() {
	for {
		w.updateLiveness()
		p := w.policy.choosePlan(w.segments)
		if len(p.inputs) == 0 {
			return
		}
		w.merge(p)
	}
}

// mergeQuiet makes the merges of a quiet partition.
func (w *world) mergeQuiet() {
	for {
		w.mergeAll()
		inputs := w.policy.quietInputs(w.segments)
		if len(inputs) == 0 {
			return
		}
		w.merge(plan{inputs, reasonQuiet})
	}
}

func (w *world) merge(p plan) {
	w.merges++
	text, gone := int64(0), map[*entry]bool{}
	var kept []*fakeDocument
	for _, e := range p.inputs {
		gone[e] = true
		text += e.ref.TextBytes
		for _, d := range w.content[e] {
			if !d.dead {
				kept = append(kept, d)
			}
		}
		delete(w.content, e)
	}
	if p.reason != reasonDead && len(p.inputs) < 2 || len(p.inputs) > MaxInputs || text > w.policy.MaxTextBytes {
		w.t.Fatalf("merge of %d segments with %d bytes (%s)", len(p.inputs), text, p.reason)
	}
	rest := w.segments[:0]
	for _, e := range w.segments {
		if !gone[e] {
			rest = append(rest, e)
		}
	}
	if w.segments = rest; len(kept) > 0 {
		w.written += w.add(kept).tierSize()
	}
}

func (w *world) check() {
	sealed, total := int64(0), int64(0)
	counts := make([]int64, w.policy.Tiers()+1)
	for _, e := range w.segments {
		counts[w.policy.tierForSize(e.tierSize())]++
		total += e.tierSize()
	}
	sealed, counts = counts[w.policy.Tiers()], counts[:w.policy.Tiers()]
	for tier, n := range counts {
		if n >= FanIn {
			w.t.Fatalf("%d segments in tier %d", n, tier)
		}
	}
	if sealed > 2*total/w.policy.MaxTextBytes {
		w.t.Fatalf("%d sealed segments for %d bytes", sealed, total)
	}
}

func TestBounds(t *testing.T) {
	for seed := range uint64(9) {
		rng := rand.New(rand.NewPCG(seed, 7))
		w := &world{
			t: t, rng: rng, content: map[*entry][]*fakeDocument{},
			policy: Policy{MaxTextBytes: []int64{segment.DefaultMaxTextBytes, 1 << 20, 3 << 20}[seed%3]},
		}
		dying := seed%2 == 1
		for range 1500 {
			for range 1 + rng.IntN(20)/19*rng.IntN(100) { // sometimes a backlog
				w.push()
				if dying {
					w.killDocuments(rng.IntN(1 << rng.IntN(7)))
				}
			}
			w.mergeAll()
			w.check()
		}
		amplification := float64(w.written) / float64(w.ingested)
		bound := w.policy.Tiers()
		if dying {
			bound++
		}
		t.Logf("seed %d: %d MiB, dying %t: %d merges, %d segments of %d tiers, write amplification %.2f",
			seed, w.ingested>>20, dying, w.merges, len(w.segments), w.policy.Tiers(), amplification)
		if amplification > float64(bound) {
			t.Errorf("write amplification %.2f, want at most %d", amplification, bound)
		}
	}
}

// checkRested checks the segments after a quiet period: each segment that is not sealed
// is more than twice as large as all smaller ones together, unless they do not fit into
// one output.
func (w *world) checkRested() {
	small, size := 0, int64(0)
	for _, e := range w.segments {
		if w.policy.tierForSize(e.tierSize()) < w.policy.Tiers() {
			small++
			size += e.tierSize()
		}
	}
	doublings := 1
	for bound := int64(documentBytes); bound < w.policy.sealedBytes(); bound *= 2 {
		doublings++
	}
	if limit := doublings + int(2*size/w.policy.MaxTextBytes); small > limit {
		w.t.Fatalf("%d segments are left of %d bytes, want at most %d", small, size, limit)
	}
}

// TestPushesAreBounded makes ten thousand pushes of arbitrary shape into one partition,
// merges after each, and checks the number of segments and the bytes written against the
// bounds of docs/adr/0007: at most FanIn-1 segments in each tier in addition to the
// sealed ones, and each document written once per tier. Occasional quiet periods may add
// one write per doubling, and leave a few segments.
func TestPushesAreBounded(t *testing.T) {
	shapes := []struct {
		name string
		// push returns the documents and bytes of the next push.
		push func(rng *rand.Rand) (documents int, bytes int64)
		// edits means that each document replaces a live one.
		edits bool
		// rests is the number of pushes per quiet period; 0 means no quiet periods.
		rests int
		// most bounds the write amplification: the observed value, rounded up, which is
		// below the bound of the policy.
		most float64
	}{
		{"edits of one file", func(rng *rand.Rand) (int, int64) { return 1, 1<<10 + rng.Int64N(60<<10) }, true, 0, 5},
		{"edits with rests", func(rng *rand.Rand) (int, int64) { return 1, 1<<10 + rng.Int64N(60<<10) }, true, 50, 8},
		{"a push at a time, each followed by a rest", func(rng *rand.Rand) (int, int64) { return 1, 1<<10 + rng.Int64N(60<<10) }, false, 1, 11},
		{"tiny files", func(*rand.Rand) (int, int64) { return 1, 100 }, false, 0, 5},
		{"sizes over six decades", func(rng *rand.Rand) (int, int64) {
			n := 1 + rng.IntN(1<<rng.IntN(6))
			return n, rng.Int64N(1 << rng.IntN(20))
		}, false, 0, 5},
		{"sizes over six decades, edits, rests", func(rng *rand.Rand) (int, int64) {
			n := 1 + rng.IntN(1<<rng.IntN(6))
			return n, rng.Int64N(1 << rng.IntN(20))
		}, true, 20, 7},
		{"just below the bound of a tier", func(*rand.Rand) (int, int64) { return 1, tierBytes - documentBytes - 1 }, false, 0, 5},
	}
	for i, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			w := &world{t: t, rng: rand.New(rand.NewPCG(uint64(i), 11)), content: map[*entry][]*fakeDocument{}}
			w.policy.ensureDefaults()
			for range 3 { // earlier imports
				w.pushOf(2000, 40<<20)
			}
			imported, most := w.ingested, 0
			for n := range 10_000 {
				documents, bytes := shape.push(w.rng)
				if shape.edits {
					w.killDocuments(documents)
				}
				w.pushOf(documents, bytes)
				w.mergeAll()
				w.check()
				most = max(most, len(w.segments))
				if shape.rests > 0 && n%shape.rests == 0 {
					w.mergeQuiet()
					w.checkRested()
				}
			}
			amplification := float64(w.written) / float64(w.ingested-imported)
			t.Logf("%d MiB pushed, %d merges, at most %d segments, %d at the end, write amplification %.2f",
				(w.ingested-imported)>>20, w.merges, most, len(w.segments), amplification)
			sealed := int(2 * w.ingested / w.policy.MaxTextBytes)
			if limit := (FanIn-1)*w.policy.Tiers() + sealed; most > limit {
				t.Errorf("%d segments at once, want at most %d", most, limit)
			}
			if amplification > shape.most {
				t.Errorf("write amplification %.2f, want at most %.0f", amplification, shape.most)
			}
		})
	}
}

// pushOf adds a segment of documents of one size.
func (w *world) pushOf(documents int, bytes int64) {
	list := make([]*fakeDocument, documents)
	for i := range list {
		list[i] = &fakeDocument{text: bytes / int64(documents)}
	}
	w.alive = append(w.alive, list...)
	w.ingested += w.add(list).tierSize()
}
