package e2e

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/segmentstore/s3test"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// bucketReplicas are replicas whose segments are in a bucket, behind a proxy for faults.
type bucketReplicas struct {
	*replicas
	s3    *s3test.Server
	proxy *s3test.Proxy
	// objects are the snapshots in the bucket, without the proxy.
	objects segmentstore.Store
	nodes   int
}

func startBucketReplicas(t *testing.T, broker *kafkatest.Broker) *bucketReplicas {
	t.Helper()
	b := &bucketReplicas{s3: s3test.Start(t)}
	b.proxy = s3test.NewProxy(t, b.s3)
	b.replicas = startReplicas(t, broker, "storage.segments=s3://"+s3test.Bucket+"/fleet", "storage.s3.endpoint="+b.proxy.Endpoint, "storage.s3.region="+s3test.Region,
		"storage.s3.pathStyle=true", "storage.s3.accessKeyId="+s3test.AccessKey, "storage.s3.secretAccessKey="+s3test.SecretKey, "snapshots.keep=8")
	store, err := segmentstore.OpenBucket(t.Context(), segmentstore.BucketOptions{
		Endpoint: b.s3.Endpoint, Region: s3test.Region, Bucket: s3test.Bucket, Prefix: "fleet", PathStyle: true, AccessKeyID: s3test.AccessKey, SecretAccessKey: s3test.SecretKey,
		TempDir: t.TempDir(), Metrics: segmentstore.NewBucketMetrics(prometheus.NewRegistry()), Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	b.objects = store.Folder("snapshots")
	return b
}

// createSnapshot creates a snapshot on a node and returns its name. It waits for one that is
// being created.
func (b *bucketReplicas) createSnapshot(s *server) (name string) {
	b.t.Helper()
	pollUntil(func() bool {
		command, said := s.newCommand("snapshots", "create")
		out, err := command.Output()
		if err != nil && strings.Contains(said.String(), "a snapshot is being created") {
			return false
		}
		var found bool
		if name, _, found = strings.Cut(string(out), ":"); err != nil || !found {
			b.t.Fatalf("snapshots create: %v: %s%s\n%s", err, out, said, s.output)
		}
		return true
	})
	return name
}

// objectsOf returns the names of the objects of a snapshot.
func (b *bucketReplicas) objectsOf(name string) (names []string) {
	b.t.Helper()
	for info, err := range b.objects.List(b.t.Context()) {
		must(b.t, err)
		if strings.HasPrefix(info.Name, name) {
			names = append(names, info.Name)
		}
	}
	return names
}

// overwriteObject flips a bit of the first object of a snapshot whose name contains kind,
// and stores it with a checksum that matches, so that only the snapshot can tell.
func (b *bucketReplicas) overwriteObject(name, kind string) {
	b.t.Helper()
	names := b.objectsOf(name)
	i := slices.IndexFunc(names, func(object string) bool { return strings.Contains(object, kind) })
	if i < 0 {
		b.t.Fatalf("%s has no %s: %v", name, kind, names)
	}
	content, err := b.objects.GetBytes(b.t.Context(), names[i], 64<<20)
	must(b.t, err)
	content[len(content)/2] ^= 4
	must(b.t, b.objects.Delete(b.t.Context(), names[i]))
	must(b.t, b.objects.PutBytes(b.t.Context(), names[i], content))
}

// startEmptyNode starts a query node with an empty data directory. It must start from a
// snapshot, or from none if the name is empty, after it has skipped some, by name and
// reason, and answer like the first query node.
func (b *bucketReplicas) startEmptyNode(from string, skipped map[string]string) {
	b.t.Helper()
	b.nodes++
	s := b.startNode(fmt.Sprint("new-", b.nodes), "query")
	said := s.output.String()
	var started string
	for line := range strings.Lines(said) {
		switch {
		case strings.Contains(line, `msg="started from a snapshot; following the log from there" snapshot=`+from+" "):
			started = from
		case strings.Contains(line, `msg="skipping a snapshot"`):
			for name, reason := range skipped {
				if strings.Contains(line, "snapshot="+name+" ") && strings.Contains(line, reason) {
					delete(skipped, name)
				}
			}
		}
	}
	if started != from || len(skipped) > 0 {
		b.t.Errorf("started from %q, want %q; not skipped: %v\n%s", started, from, skipped, said)
	}
	if used, _ := metricOf(s, "quarry_snapshots_loads_total", `result="used"`); used > 0 != (from != "") {
		b.t.Errorf("the metric says that %v snapshots were used", used)
	}
	for _, word := range []string{"here", "theorbo", "rebec", "mutation"} {
		want, got := "", "-"
		if !pollUntil(func() bool {
			want, got = b.answerOf(b.queries[0], word), b.answerOf(s, word)
			return want == got
		}) {
			b.t.Errorf("%s: the new node answers\n%s, the first one\n%s", word, got, want)
		}
	}
	s.killProcess()
}

// answerOf returns the files and chunks that a node finds.
func (b *bucketReplicas) answerOf(s *server, query string) string {
	b.t.Helper()
	status, answer, err := sendRequest(http.MethodPost, s.url+"/api/search", http.Header{"Content-Type": {"application/json"}}, fmt.Appendf(nil, `{"query": %q, "matches": 1000}`, query))
	var found struct {
		Files      []wire.SearchFile `json:"files"`
		Exhaustive bool              `json:"isSearchExhaustive"`
	}
	if err == nil && status == http.StatusOK {
		err = json.Unmarshal([]byte(answer), &found)
	}
	if err != nil {
		b.t.Fatalf("search %s: %v\n%s", query, err, answer)
	}
	slices.SortFunc(found.Files, func(x, y wire.SearchFile) int { return strings.Compare(x.WebURL, y.WebURL) })
	text, err := json.Marshal(found)
	must(b.t, err)
	return fmt.Sprintf("%d files: %s", len(found.Files), strings.ReplaceAll(string(text), s.url, ""))
}

// snapshotsInABucket runs each role as a process whose segments are in a bucket. A query
// node with an empty data directory starts from the newest snapshot that is intact, whatever
// object of a newer one was overwritten, and answers like the others. A snapshot whose
// creator was killed is not used, and deleted after a day.
func snapshotsInABucket(t *testing.T, broker *kafkatest.Broker) {
	b := startBucketReplicas(t, broker)
	b.server = b.queries[0]
	b.startEmptyNode("", nil)
	var names []string
	for i := range 4 {
		b.pushWord(fmt.Sprint("rebec", i))
		b.awaitWord(fmt.Sprint("rebec", i))
		names = append(names, b.createSnapshot(b.queries[i%2]))
	}
	b.pushWord("rebec4")
	b.awaitWord("rebec4")
	b.startEmptyNode(names[3], nil)

	b.overwriteObject(names[3], ".table-")
	b.startEmptyNode(names[2], map[string]string{names[3]: "the snapshot is damaged"})
	b.overwriteObject(names[2], ".manifest")
	b.overwriteObject(names[1], ".segments")
	skipped := func() map[string]string {
		const damaged = "the snapshot is damaged"
		return map[string]string{names[3]: damaged, names[2]: damaged, names[1]: damaged}
	}
	b.startEmptyNode(names[0], skipped())

	cut := b.cutSnapshot()
	if left := b.objectsOf(cut); len(left) == 0 || slices.ContainsFunc(left, func(object string) bool { return strings.HasSuffix(object, ".manifest") }) {
		t.Fatalf("a creator that was killed left %v", left)
	}
	listed := func(s *server) string {
		list, said := s.newCommand("snapshots")
		out, err := list.Output()
		if err != nil {
			t.Fatalf("snapshots: %v: %s%s", err, out, said)
		}
		return string(out)
	}
	if out := listed(b.queries[0]); !strings.Contains(out, "it is incomplete") {
		t.Errorf("the list does not say that %s is incomplete:\n%s", cut, out)
	}
	withCut := skipped()
	withCut[cut] = "it is incomplete"
	b.startEmptyNode(names[0], withCut)

	b.createSnapshot(b.queries[0])
	if left := b.objectsOf(cut); len(left) == 0 {
		t.Error("a snapshot that may still be written was deleted")
	}
	b.useClock()(25 * time.Hour)
	b.createSnapshot(b.startNode("tomorrow", "query"))
	if left := b.objectsOf(cut); len(left) > 0 {
		t.Errorf("a day later, %v are left of %s", left, cut)
	}
}

// cutSnapshot kills a query node while it stores the first table of a snapshot, and returns
// the name of the snapshot.
func (b *bucketReplicas) cutSnapshot() (name string) {
	b.t.Helper()
	s := b.startNode("killed", "query")
	var once sync.Once
	b.proxy.Inject(func(_ http.ResponseWriter, r *http.Request) bool {
		object := filepath.Base(r.URL.Path)
		if r.Method != http.MethodPut || !strings.Contains(object, ".table-") {
			return false
		}
		once.Do(func() {
			name, _, _ = strings.Cut(object, ".")
			s.killProcess()
		})
		panic(http.ErrAbortHandler)
	})
	command, said := s.newCommand("snapshots", "create")
	if out, err := command.Output(); err == nil {
		b.t.Errorf("a node that was killed created a snapshot: %s%s", out, said)
	}
	<-s.exited
	b.proxy.Inject(nil)
	return name
}

// snapshotWhileTheBucketRefuses has the bucket fail while a snapshot is created: the
// command fails with the operation and what to do, nothing of the snapshot is used, and the
// next one succeeds.
func snapshotWhileTheBucketRefuses(t *testing.T, broker *kafkatest.Broker) {
	b := startBucketReplicas(t, broker)
	b.server = b.queries[0]
	isTable := func(r *http.Request) bool {
		return r.Method == http.MethodPut && strings.Contains(r.URL.Path, ".table-")
	}
	for _, c := range []struct {
		name              string
		inject            func()
		operation, remedy string
	}{
		{"server stopped", func() {
			var once sync.Once
			b.proxy.Inject(func(_ http.ResponseWriter, r *http.Request) bool {
				if isTable(r) {
					once.Do(b.s3.Stop)
				}
				return false
			})
		}, "list the snapshots: segment store: list", "check storage.s3.endpoint and the network"},
		{"server busy", func() {
			busy := s3test.Refuse(-1, http.StatusServiceUnavailable, "SlowDown")
			b.proxy.Inject(func(w http.ResponseWriter, r *http.Request) bool { return isTable(r) && busy(w, r) })
		}, ": segment store: put", "the server is overloaded or fails: check its state"},
		{"access denied", func() {
			denied := s3test.Refuse(-1, http.StatusForbidden, "AccessDenied")
			b.proxy.Inject(func(w http.ResponseWriter, r *http.Request) bool { return isTable(r) && denied(w, r) })
		}, ": segment store: put", "check the credentials"},
	} {
		c.inject()
		command, said := b.queries[0].newCommand("snapshots", "create")
		out, err := command.Output()
		if err == nil || command.ProcessState.ExitCode() != 1 {
			t.Errorf("%s: snapshots create: %v: %s", c.name, err, out)
		}
		for _, want := range []string{c.operation + " s3://" + s3test.Bucket + "/fleet/snapshots/", c.remedy} {
			if !strings.Contains(said.String(), want) {
				t.Errorf("%s: snapshots create does not say %q: %s", c.name, want, said)
			}
		}
		if n, err := countMatches(b.queries[0].url, "theorbo"); err != nil || n != 1 {
			t.Errorf("%s: a search meanwhile: %d matches, %v", c.name, n, err)
		}
		b.proxy.Inject(nil)
		if c.name == "server stopped" {
			b.s3.Restart()
		}
		b.startEmptyNode(b.createSnapshot(b.queries[0]), nil)
	}
}
