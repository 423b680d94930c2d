package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/loopback"
)

// movePartitions goes from 2 to 3 shards under pushes and searches: the replica of the share 1/2
// continues with partition 1 in its directory, and a new shard starts with partition 3 from a
// snapshot. A front asks the owners before and the next ones, until another front asks the next
// ones alone. Once the next owners answer, one of them is killed: the owner before answers again.
// Each answer is that of the whole process, except those that say that they lack partitions, which
// only begin before the loss is known.
func (c *shardCluster) movePartitions(t *testing.T) {
	c.awaitSnapshot(t, 1, 3)
	var addresses [2]string
	for i := range addresses {
		var err error
		addresses[i], err = loopback.FreeAddress()
		must(t, err)
	}
	m := &moving{shardCluster: c, t: t}
	m.at.Store(c.front)
	before := "0/2@" + c.peers[0] + ",1/2@" + c.peers[1]
	next := "1@" + addresses[0] + ",3@" + addresses[1]

	stop := m.searchAlways()
	must(t, c.shards[2].stop())
	c.shards[2] = c.startWith("shard-2", "shard.share=1", "shard.listen="+addresses[0])
	m.pushAndSearch("guqin")
	startThird := func() *server { return c.startWith("shard-3", "shard.share=3", "shard.listen="+addresses[1]) }
	third := startThird()
	// The rows of no partition are those of the newest snapshot, which may be of another share.
	loads, found := metricOf(third, "quarry_snapshots_loads_total", `result="used"`)
	if log := third.output.String(); !found || loads < 1 || loads > 2 || !strings.Contains(log, "partitions=[3]") {
		t.Errorf("the new shard has loaded %v snapshots, want the one of its partition:\n%s", loads, log)
	}
	if loads, found := metricOf(c.shards[2], "quarry_snapshots_loads_total", `result="used"`); !found || loads != 0 {
		t.Errorf("the shard that keeps a partition has loaded %v snapshots, want 0:\n%s", loads, c.shards[2].output.String())
	}
	m.goTo(c.startWith("front-2", "shard.peers="+before+","+next))
	m.pushAndSearch("biwa")
	if !pollUntil(func() bool {
		calls, found := metricOf(c.front, "quarry_shards_calls_total", `result="answered",share="3"`)
		return found && calls > 0
	}) {
		t.Error("the front does not ask the next owner of partition 3")
	}

	logged := len(c.front.output.String())
	m.losing.Store(true)
	third.killProcess()
	c.awaitLogged(t, logged, "shard is lost; trying again")
	m.losing.Store(false)
	m.pushAndSearch("dutar")
	logged = len(c.front.output.String())
	startThird()
	c.awaitLogged(t, logged, "shard is reached")
	m.pushAndSearch("setar")

	m.goTo(c.startWith("front-3", "shard.peers=0/2@"+c.peers[0]+","+next))
	must(t, c.shards[1].stop())
	m.pushAndSearch("rubab")
	stop()
	c.peers[2] = addresses[0]
	c.compareAnswers(t)
}

// awaitSnapshot waits until a shard has created a snapshot of some partitions.
func (c *shardCluster) awaitSnapshot(t *testing.T, partitions ...int) {
	t.Helper()
	if !pollUntil(func() bool {
		manifests, err := filepath.Glob(filepath.Join(c.dir, "segments", "snapshots", "*.manifest"))
		must(t, err)
		return slices.ContainsFunc(manifests, func(path string) bool {
			text, _ := os.ReadFile(path) // it may have been deleted
			_, body, _ := bytes.Cut(text, []byte("\n"))
			var manifest struct{ Partitions []int }
			return json.Unmarshal(body, &manifest) == nil && slices.Equal(manifest.Partitions, partitions)
		})
	}) {
		t.Fatalf("there is no snapshot of the partitions %v", partitions)
	}
}

// moving searches the front of a cluster while partitions move.
type moving struct {
	*shardCluster
	t  *testing.T
	at atomic.Pointer[server] // the front that is asked
	// losing is set while answers may lack partitions.
	losing atomic.Bool
	count  atomic.Int64
}

// goTo asks another front from now on, once it is complete, and stops the one before.
func (m *moving) goTo(front *server) {
	m.t.Helper()
	if !pollUntil(func() bool {
		_, answer, err := front.search(map[string]any{"query": "here", "matches": 100}, nil)
		return err == nil && answer.Exhaustive
	}) {
		m.t.Fatalf("the front does not become complete:\n%s", front.output.String())
	}
	before := m.at.Swap(front)
	m.awaitSearches(2) // no search that began before is left
	must(m.t, before.stop())
	m.front = front
}

// awaitSearches waits until more searches are answered.
func (m *moving) awaitSearches(n int64) {
	m.t.Helper()
	from := m.count.Load()
	if !pollUntil(func() bool { return m.count.Load() >= from+n }) {
		m.t.Fatal("searches are not answered")
	}
}

// searchAlways searches for text that no push changes, until the function that it returns is
// called.
func (m *moving) searchAlways() (stop func()) {
	body := map[string]any{"query": "plays", "matches": 100, "facets": true}
	ask := func(s *server) (int, string) {
		status, answer := send(m.t, s, http.MethodPost, "/api/search", body)
		return status, strings.ReplaceAll(mustJSON(m.t, answer), s.url, "URL")
	}
	_, want := ask(m.whole)
	if !strings.Contains(want, `"isSearchExhaustive":true`) {
		m.t.Fatalf("the whole process is not complete: %s", want)
	}
	done := make(chan struct{})
	var searching sync.WaitGroup
	searching.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			mayLack := m.losing.Load()
			status, got := ask(m.at.Load())
			lacks := strings.Contains(got, `"incompleteReason":"lost partitions"`) && strings.Contains(got, `"isSearchExhaustive":false`)
			if status != http.StatusOK || got != want && !(lacks && (mayLack || m.losing.Load())) {
				m.t.Errorf("%d %s\nwant %s", status, got, want)
			}
			m.count.Add(1)
		}
	})
	return func() { close(done); searching.Wait() }
}

// pushAndSearch pushes a word, and searches for it from its position on, while other searches go
// on.
func (m *moving) pushAndSearch(word string) {
	m.t.Helper()
	var accepted struct{ MinPosition string }
	must(m.t, json.Unmarshal([]byte(m.pushWord(word)), &accepted))
	if answer := m.at.Load().searchFrom(m.t, word, accepted.MinPosition); answer.Stats.Files != 1 || !answer.Exhaustive {
		m.t.Errorf("%s at %s: %+v", word, accepted.MinPosition, answer)
	}
	m.awaitSearches(3)
}
