package event

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

var update = flag.Bool("update", false, "add samples and released fields that are missing; changes none that exist")

// shortName returns an event's name in schemas/events and schemas/testdata.
func shortName(t Type) string { return strings.TrimPrefix(string(t), "dev.quarry.") }

func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t
}

const (
	commitA = code.CommitID("8f1c0de9a3b24f5c6d7e8f90a1b2c3d4e5f60718")
	commitB = code.CommitID("0123456789abcdef0123456789abcdef01234567")
)

func fullRepository() code.Repository {
	return code.Repository{
		ID: 3141592653589793, Kind: code.GitHub, Name: "github.com/acme/anvil", DisplayName: "anvil",
		CloneURL: "https://github.com/acme/anvil.git", WebURL: "https://github.com/acme/anvil",
		ImageURL: "https://github.com/acme.png", Description: "Anvils, by mail.", DefaultBranch: "main", Branches: []string{"release/*"}, Tags: []string{"v1.*"},
		Submodules: true, Connection: "acme", Fork: true, Archived: true, Private: true,
	}
}

// fullEvents returns one event of every version with every field set.
func fullEvents() []Event {
	segment := SegmentRef{ID: "00112233445566778899aabbccddeeff", SizeBytes: 4096, TextBytes: 9000, Documents: 3}
	blob, _ := code.ParseBlobID(string(commitB))
	mark := Offset(18)
	events := []Event{
		&Push{
			Repository: 3141592653589793, Ref: "refs/heads/main", Before: commitA, After: commitB,
			Action: ActionUpdated, Forced: "false", Connection: "acme", DeliveryID: "72d3162e-cc78-11e3-81ab-4c9367dc0958",
			BodySHA256: strings.Repeat("0f", 32), ReceivedAt: parseTime("2026-11-21T10:00:00.123456789Z"),
			HostTime: parseTime("2026-11-21T09:59:59Z"), Pusher: "zoë <zoe@example.com>", Private: true,
		},
		&RepositoryRegistered{Repository: fullRepository(), PrivateMark: &mark, At: parseTime("2026-11-21T10:00:00Z")},
		&RepositoryChanged{Repository: fullRepository(), PrivateMark: &mark, At: parseTime("2026-11-21T10:00:00Z")},
		&RepositoryRemoved{Repository: 3141592653589793, Reason: "removed by hand", Erase: true, At: parseTime("2026-11-21T10:00:00Z")},
		&RevisionIndexed{
			Repository: 3141592653589793, Ref: "refs/heads/main", Commit: commitB, CommitTime: parseTime("2026-11-21T09:58:00Z"),
			DefaultBranch: "main", BaseRef: "refs/heads/main", BaseCommit: commitA, Segments: []SegmentRef{segment},
			Changes: []Change{
				{Path: "caf\xe9.txt"},
				{Path: "cmd/main.go", Blob: blob, Language: "Go", Flags: code.FlagASCII | code.FlagTest, SizeBytes: 812},
				{Path: "logo.png", Skipped: code.SkipBinary, SizeBytes: 70000},
			},
			Cause:    Position{Topic: TopicEvents, Partition: 2, Offset: 17},
			PushedAt: parseTime("2026-11-21T10:00:00Z"), IndexedAt: parseTime("2026-11-21T10:00:01.5Z"),
		},
		&SegmentsMerged{
			Partition: 2, Inputs: []string{"ffeeddccbbaa99887766554433221100", "0123456789abcdef0123456789abcdef"},
			Output: &segment, Outputs: []MergeOutput{{Segment: segment, Origins: []code.RepositoryID{3141592653589793}}}, At: parseTime("2026-11-21T11:00:00Z"),
		},
		&Delivery{
			Connection: "acme", DeliveryID: "72d3162e-cc78-11e3-81ab-4c9367dc0958", Outcome: DeliveryDuplicate, Reason: "taken before",
			Of: &Position{Topic: TopicEvents, Partition: 2, Offset: 17}, BodySHA256: strings.Repeat("0f", 32), Suppressed: 3,
			ReceivedAt: parseTime("2026-11-21T10:00:00.123456789Z"),
		},
		&PushesHandled{
			Repository: 3141592653589793, Pushes: []HandledPush{{17, PushUnchanged, commitA}, {19, PushUnselected, ""}},
			At: parseTime("2026-11-21T10:00:01Z"),
		},
		&ErasureRequested{Repository: 3141592653589793, Commit: commitA, At: parseTime("2026-11-21T10:00:00Z")},
		&ScipUploaded{
			Repository: 3141592653589793, Commit: commitA, Path: "cmd/kettle", Object: "scip-000b2943e1e6ab21-0123456789abcdef0123456789abcdef",
			SizeBytes: 70000, Documents: 12, Occurrences: 3400, Symbols: 560, Tool: "scip-go", ToolVersion: "v0.2.7", Keep: 3, At: parseTime("2026-11-21T10:00:00Z"),
		},
		&ScipDeleted{Repository: 3141592653589793, Object: "scip-000b2943e1e6ab21-0123456789abcdef0123456789abcdef", At: parseTime("2026-11-21T10:00:00Z")},
		&SubmodulesListed{
			Repository: 3141592653589793, Submodules: []code.Submodule{{CloneURL: "https://github.com/acme/spring.git", Commit: commitA}},
			Cause: Position{Topic: TopicEvents, Partition: 2, Offset: 17}, At: parseTime("2026-11-21T10:00:00Z"),
		},
		&PinsChanged{Repository: 3141592653589793, Commits: []code.CommitID{commitB, commitA}, At: parseTime("2026-11-21T10:00:00Z")},
	}
	return append(events, fullAccountEvents()...)
}

// minimalEvents returns one event of every version with required fields only.
func minimalEvents() []Event {
	repository := code.Repository{ID: 1, Kind: code.GenericGitHost, Name: "x", CloneURL: "/srv/git/x"}
	events := []Event{
		&Push{Repository: 1, Action: ActionRefresh},
		&RepositoryRegistered{Repository: repository},
		&RepositoryChanged{Repository: repository},
		&RepositoryRemoved{Repository: 1},
		&RevisionIndexed{Repository: 1, Ref: "refs/tags/v1", ChangesObject: "a0b1/manifest-1", Cause: Position{Topic: "t"}},
		&SegmentsMerged{Inputs: []string{"ffeeddccbbaa99887766554433221100"}},
		&Delivery{Connection: "x", DeliveryID: "1", Outcome: DeliveryRefused},
		&PushesHandled{Repository: 1, Pushes: []HandledPush{{0, PushAbsent, ""}}},
		&ErasureRequested{Repository: 1, Commit: commitA},
		&ScipUploaded{Repository: 1, Commit: commitA, Object: "x", Keep: 1},
		&ScipDeleted{Repository: 1, Object: "x"},
		&SubmodulesListed{Repository: 1, Submodules: []code.Submodule{}, Cause: Position{Topic: "t"}},
		&PinsChanged{Repository: 1, Commits: []code.CommitID{}},
	}
	return append(events, minimalAccountEvents()...)
}

func sampleEnvelope() Envelope {
	return Envelope{ID: "quarry.events/2/17#indexed", Source: "/pipeline/indexer", Time: parseTime("2026-11-21T10:00:02.5Z")}
}

// formatSample formats a record as a sample file: "key: …" and one line per header, an
// empty line, the value.
func formatSample(rec Record) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "key: %s\n", rec.Key)
	for _, h := range rec.Headers {
		fmt.Fprintf(&b, "%s: %s\n", h.Name, h.Value)
	}
	fmt.Fprintf(&b, "\n%s\n", rec.Value)
	return b.Bytes()
}

func parseSample(t *testing.T, b []byte) Record {
	t.Helper()
	head, value, found := strings.Cut(string(b), "\n\n")
	if !found {
		t.Fatal("sample has no empty line between headers and value")
	}
	rec := Record{Value: []byte(strings.TrimSuffix(value, "\n"))}
	for line := range strings.SplitSeq(head, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		if strings.TrimSuffix(name, ":") == "key" {
			if value != "" {
				rec.Key = []byte(value)
			}
			continue
		}
		rec.Headers = append(rec.Headers, Header{Name: name, Value: []byte(value)})
	}
	return rec
}

// samplePaths returns the samples of a version, the oldest first: NAME.event, then
// NAME-2.event and so on, one for each time that optional fields were added.
func samplePaths(t testing.TB, typ Type) []string {
	t.Helper()
	base := filepath.Join("..", "testdata", shortName(typ))
	var paths []string
	for n, path := 1, base+".event"; ; n, path = n+1, fmt.Sprintf("%s-%d.event", base, n+1) {
		if _, err := os.Stat(path); os.IsNotExist(err) {
			return paths
		} else if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
}

// TestSamplesDecodeForEver checks that the meaning of every released version stays the
// same: a sample is written once and never changed. This build decodes each sample and
// would write it unchanged; the newest sample of a version contains every field.
func TestSamplesDecodeForEver(t *testing.T) {
	for _, want := range fullEvents() {
		t.Run(shortName(want.EventType()), func(t *testing.T) {
			var newest Event
			for _, path := range samplePaths(t, want.EventType()) {
				newest = decodeSample(t, path)
			}
			if reflect.DeepEqual(newest, want) {
				return
			}
			if !*update {
				t.Fatalf("no sample has every field; a new version, and new optional fields, get one by -update\nnewest %+v\nwant   %+v", newest, want)
			}
			path := filepath.Join("..", "testdata", shortName(want.EventType())+".event")
			if n := len(samplePaths(t, want.EventType())); n > 0 {
				path = fmt.Sprintf("%s-%d.event", strings.TrimSuffix(path, ".event"), n+1)
			}
			if err := os.WriteFile(path, formatSample(mustEncode(t, want)), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func decodeSample(t *testing.T, path string) Event {
	t.Helper()
	sample, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rec := parseSample(t, sample)
	env, got, err := Decode(rec)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if wantEnv := sampleEnvelope(); env.ID != wantEnv.ID || env.Source != wantEnv.Source || !env.Time.Equal(wantEnv.Time) {
		t.Errorf("%s: envelope %+v, want %+v", path, env, wantEnv)
	}
	if again := formatSample(mustEncode(t, got)); !bytes.Equal(again, sample) {
		t.Errorf("%s: the file holds\n%s\nand this build decodes it to\n%s", path, sample, again)
	}
	return got
}

// TestSamplesAreComplete fails if a sample matches none of the events above.
func TestSamplesAreComplete(t *testing.T) {
	known := map[string]bool{}
	for _, ev := range fullEvents() {
		for _, path := range samplePaths(t, ev.EventType()) {
			known[filepath.Base(path)] = true
		}
	}
	files, err := filepath.Glob(filepath.Join("..", "testdata", "*.event"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !known[filepath.Base(file)] {
			t.Errorf("%s: no test decodes it", file)
		}
	}
}

func mustEncode(t testing.TB, ev Event) Record {
	t.Helper()
	rec, err := Encode(sampleEnvelope(), ev)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}
