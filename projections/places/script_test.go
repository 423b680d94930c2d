package places_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestScripts runs testdata/scripts/*. One repository, one partition; documents
// are letters. Commands:
//
//	register                             register the repository
//	push ref=R [base=B] [known] edits    move R; edits are lines "path letter", "path -" or "path !reason"
//	                                     base=B: from that ref; none: from R itself; base=none: the whole
//	                                     known: no segment adds the documents
//	delete ref=R                         delete R
//	default branch=B                     make B the default branch
//	merge inputs=(1,2) documents=(a,b)   replace segments by one with these documents
//	remove                               remove the repository
//	rows [kinds]                         the rows whose description begins with one of the kinds
//	view                                 the places of the current View
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := newScript(t)
		datadriven.RunTest(t, path, s.run)
		s.finish()
	})
}

type script struct {
	*history
	repo  *projectiontest.Repository
	names map[code.DocumentKey]string
	// segments holds all segments so far, by sequence.
	segments map[string]segment.ID
}

func newScript(t *testing.T) *script {
	objects := newObjects(t)
	return &script{
		history: &history{bench: openBench(t, storetest.NewMemory(), objects, places.Options{}), w: projectiontest.NewWorld(t, 0, 1, objects)},
		names:   map[code.DocumentKey]string{}, segments: map[string]segment.ID{},
	}
}

func (s *script) document(letter string) code.DocumentKey {
	k := s.w.Document(int(letter[0]))
	s.names[k] = letter
	return k
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "register":
		s.apply(s.w.Register(0))
		for _, r := range s.w.Repositories {
			s.repo = r
		}
	case "push":
		s.push(d)
	case "delete":
		s.apply(s.w.Index(s.repo, refOf(d, "ref"), nil, nil, nil)...)
	case "default":
		s.apply(s.w.ChangeDefault(s.repo, refOf(d, "branch").Short()))
	case "merge":
		s.mergeInto(d)
	case "remove":
		s.apply(s.w.Remove(s.repo))
	case "rows":
		return s.rows(d)
	case "view":
		return s.view()
	default:
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	v := s.places.Acquire()
	for _, info := range v.SegmentInfos() {
		s.segments[fmt.Sprint(info.Sequence)] = info.ID
	}
	v.Release()
	if err := s.check(); err != nil {
		return err.Error()
	}
	return ""
}

func refOf(d *datadriven.TestData, name string) code.Ref {
	for _, a := range d.CmdArgs {
		if a.Key == name {
			return code.BranchRef(a.Vals[0])
		}
	}
	return ""
}

func (s *script) push(d *datadriven.TestData) {
	ref, base := refOf(d, "ref"), refOf(d, "base")
	if base == "" && s.repo.Refs[ref] != nil {
		base = ref
	}
	files := map[string]projectiontest.File{}
	from := &base
	if s.repo.Refs[base] == nil {
		from = nil
	} else {
		maps.Copy(files, s.repo.Refs[base].Files)
	}
	for line := range strings.Lines(d.Input) {
		path, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case what == "-":
			delete(files, path)
		case strings.HasPrefix(what, "!"):
			files[path] = projectiontest.File{Skipped: code.SkipReason(what[1:])}
		default:
			files[path] = projectiontest.File{Key: s.document(what)}
		}
	}
	known := d.HasArg("known")
	s.apply(s.w.Index(s.repo, ref, files, from, func(k code.DocumentKey) bool { return known || s.w.Held[0][k] > 0 })...)
}

func (s *script) mergeInto(d *datadriven.TestData) {
	var inputs []segment.ID
	var documents []code.DocumentKey
	for _, a := range d.CmdArgs {
		for _, value := range a.Vals {
			if a.Key == "documents" {
				documents = append(documents, s.document(value))
			} else {
				inputs = append(inputs, s.segments[value])
			}
		}
	}
	before := s.liveSegments(0)
	ev, rec := s.w.Merge(0, inputs, documents)
	s.apply(rec)
	if !maps.Equal(before, s.liveSegments(0)) {
		s.w.Merged(ev)
	}
}

func (s *script) rows(d *datadriven.TestData) string {
	var b strings.Builder
	for _, row := range s.dump() {
		if row.Key[0] != byte(store.FamilyPlaces) {
			continue
		}
		line := places.DescribeRow(row.Key, row.Value, func(k code.DocumentKey) string { return s.names[k] })
		wanted := func(a datadriven.CmdArg) bool { return strings.HasPrefix(line, a.Key) }
		if line != "" && (len(d.CmdArgs) == 0 || slices.ContainsFunc(d.CmdArgs, wanted)) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func (s *script) view() string {
	v := s.places.Acquire()
	defer v.Release()
	var b strings.Builder
	for i, segment := range v.Segments() {
		keys, err := segment.Reader.Keys()
		must(s.t, err)
		fmt.Fprintf(&b, "%d:", i)
		for row := range segment.Places.Len() {
			fmt.Fprintf(&b, " %s=%s", segment.Places.Path(row), s.names[keys[segment.Places.Doc[row]]])
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "unheld: %d\n", v.UnheldCount())
	return b.String()
}
