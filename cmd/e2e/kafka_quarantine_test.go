package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
)

// sharedSegmentsHeal damages an object in a segment directory that two
// processes share, and restarts both. Both scrub the same objects at the same time, one
// moves the damaged one to the quarantine, and both answer as before.
func sharedSegmentsHeal(t *testing.T, broker *kafkatest.Broker) {
	dir := t.TempDir()
	c := &crashing{t: t, dir: dir, config: filepath.Join(dir, "quarry.yaml"), tree: filepath.Join(dir, "demo")}
	writeTextFile(t, c.config, kafkaConfiguration(dir, map[string]any{"brokers": broker.Addresses, "replicationFactor": 1}))
	if err := runGit("", "init", "-q", "-b", "main", c.tree); err != nil {
		t.Fatal(err)
	}
	// These are enough files for a manifest in the segment store.
	for i := range largeImport {
		writeTextFile(t, filepath.Join(c.tree, fmt.Sprintf("file%04d.txt", i)), fmt.Sprintf("kettle %d stands on shelf %d\n", i, i*i))
	}
	c.commitFile("first", "here is a theorbo")

	var servers [2]*server
	startServers := func() {
		t.Helper()
		for i := range servers {
			s, err := startServer(dir, os.Environ(), "--config", c.config, "--data", filepath.Join(dir, fmt.Sprint("data-", i)),
				"--set", "storage.segments="+filepath.Join(dir, "segments"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.killProcess)
			servers[i] = s
		}
	}
	stopServers := func() {
		t.Helper()
		for i, s := range servers {
			if err := s.stop(); err != nil {
				t.Errorf("server %d: %v\n%s", i, err, s.output)
			}
		}
	}
	awaitAnswers := func(what string) {
		t.Helper()
		for i, s := range servers {
			var wrong []string
			if !pollUntil(func() bool {
				now := wrongAnswer(s)
				if now != "" && (len(wrong) == 0 || wrong[len(wrong)-1] != now) {
					wrong = append(wrong, now)
				}
				return now == ""
			}) {
				t.Fatalf("%s: server %d: %s\n%s\nthe other:\n%s", what, i, strings.Join(wrong, "\n"), s.output, servers[1-i].output)
			}
		}
	}
	startServers()
	// A partition that moves after the import leaves its new owner without the mirror, until a
	// push or a reader needs it.
	if !pollUntil(func() bool {
		_, first := metricOf(servers[0], "quarry_worker_window_records", "")
		_, second := metricOf(servers[1], "quarry_worker_window_records", "")
		return first && second
	}) {
		t.Fatalf("the servers do not share the partitions\n%s\n%s", servers[0].output, servers[1].output)
	}
	c.server = servers[0]
	c.indexTree()
	awaitAnswers("before")

	for _, damage := range []struct {
		name        string
		kind        damagedKind
		quarantined int
	}{
		{"the object alone", damagedKind{pattern: "segments/segment-*", apart: true}, 1},
		{"the object and both projections", damagedKind{pattern: "segments/segment-*"}, 2},
		{"a manifest", damagedKind{pattern: "segments/manifest-*"}, 3},
	} {
		stopServers()
		_, what := damageFile(t, dir, damage.kind, 0)
		what = damage.name + ": " + what
		startServers()
		quarantined := func() int {
			moved, err := filepath.Glob(filepath.Join(dir, "segments", "quarantine", "*"))
			if err != nil {
				t.Fatal(err)
			}
			return len(moved)
		}
		if !pollUntil(func() bool { return quarantined() >= damage.quarantined }) {
			t.Errorf("%s: %d objects in the quarantine, want %d\n%s\n%s", what, quarantined(), damage.quarantined,
				servers[0].output, servers[1].output)
		}
		awaitAnswers(what)
		t.Logf("%s: healed, %d objects in the quarantine", what, quarantined())
	}
	stopServers()
}

// wrongAnswer describes a wrong answer of a server, or differences from git. It is empty
// if there are none.
func wrongAnswer(s *server) string {
	for word, want := range map[string]int{"theorbo": 1, "kettle": largeImport} {
		if n, err := countMatches(s.url, word); err != nil || n != want {
			// A second answer shows why the first was cut, if it was.
			_, answer, again := sendRequest(http.MethodPost, s.url+"/api/search", http.Header{"Content-Type": {"application/json"}},
				fmt.Appendf(nil, `{"query": %q, "matches": 10000}`, word))
			var asked struct {
				Stats, IsSearchExhaustive, IncompleteReason any
			}
			return fmt.Sprintf("%s: %d matches, want %d, %v; asked again: %v %+v", word, n, want, err, errors.Join(again, json.Unmarshal([]byte(answer), &asked)), asked)
		}
	}
	verify, said := s.newCommand("verify", "--json")
	if out, err := verify.Output(); err != nil {
		return fmt.Sprintf("verify: %v: %s%s", err, out, said)
	}
	return ""
}
