package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/loopback"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/brokers"
	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// alertsNotCaused lists alerts whose fault is not caused here, with the reason.
var alertsNotCaused = map[string]string{
	"QuarryShareLost":    "TestReplicasOnKafka causes it: shards need Kafka",
	"QuarryReplicaLost":  "as QuarryShareLost",
	"QuarryGitReadsLost": "TestLostGitPeer counts lost reads, and promtool runs the rule: workers need Kafka",
}

// alertFaults cause faults of running servers. Each lists the alerts that it covers.
var alertFaults = []struct {
	name   string
	alerts []string
	make   func(w *alertWorld)
}{
	{"host that hangs", []string{"QuarryPushesAreSlow", "QuarryReconcileLags", "QuarryWorkerHeldUp"}, (*alertWorld).hangHost},
	{"killed", []string{"QuarryDown"}, (*alertWorld).killServer},
	{"killed again and again", []string{"QuarryRestarts"}, (*alertWorld).killServerOften},
	{"forged webhook", []string{"QuarryHooksUnauthenticated"}, (*alertWorld).forgeHook},
	{"invalid settings", []string{"QuarryReloadFailed"}, (*alertWorld).spoilSettings},
	{"repository without objects", []string{"QuarryDeadLetters"}, (*alertWorld).giveUpPush},
	{"too many pushes", []string{"QuarryBacklog"}, (*alertWorld).fillBacklog},
	{"push without a webhook", []string{"QuarryHooksAreLost"}, (*alertWorld).loseHook},
	{"full disk", []string{"QuarryDiskFilling", "QuarryDiskFull", "QuarryWorkersPaused", "QuarryAuditWaits", "QuarryAuditLost"}, (*alertWorld).fillDisk},
	{"full disk of the accounts", []string{"QuarryAccountsBehind"}, (*alertWorld).fillAccountsDisk},
	{"segment store", []string{"QuarryProjectionsWait", "QuarryProjectionsLag", "QuarryDocumentsUnstored", "QuarryDocumentsMissing"}, (*alertWorld).breakSegmentStore},
	{"mirror that hangs, removal, damage", []string{"QuarryWorkerHangs", "QuarryRemovedTextStays", "QuarryDamagedFiles"}, (*alertWorld).hangMirror},
	{"poison record", []string{"QuarryPoisonRecords"}, (*alertWorld).appendPoison},
	{"broker that is killed and loses records", []string{"QuarryUnrecordedChanges", "QuarryKafkaLostRecords"}, (*alertWorld).loseBroker},
	{"cut audit log", []string{"QuarryAuditNotSealed"}, (*alertWorld).cutAuditLog},
	{"host that refuses its members", []string{"QuarryPermissionsOld"}, (*alertWorld).refuseMembers},
	{"certificate near its end", []string{"QuarryCertificateExpires"}, (*alertWorld).expireCertificate},
	{"folder of snapshots that is none", []string{"QuarrySnapshotsOld"}, (*alertWorld).blockSnapshots},
}

// TestAlertsOfRealFaults causes faults and checks the alerts that promtool evaluates from
// the server's metrics before, during and after the fault. It does not wait for the time
// that a fault must last: it repeats the last scrape instead.
func TestAlertsOfRealFaults(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	switch {
	case errors.Is(err, exec.ErrNotFound) && os.Getenv("QUARRY_REQUIRE_ALL") != "1":
		t.Skip("promtool is not installed; Debian and Ubuntu have it in the package prometheus")
	case err != nil:
		t.Fatal(err)
	}
	rules, err := os.ReadFile("../../deploy/prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	checkAlertsCovered(t, string(rules))
	for _, fault := range alertFaults {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			w := &alertWorld{crashing: newCrashing(t), pending: slices.Clone(fault.alerts)}
			w.check = func(e *episode) { e.checkRules(t, promtool, string(rules)) }
			fault.make(w)
			if len(w.pending) > 0 {
				t.Errorf("not looked at: %v", w.pending)
			}
		})
	}
}

// checkAlertsCovered checks that each alert in rules has a fault, or a reason for having
// none.
func checkAlertsCovered(t *testing.T, rules string) {
	t.Helper()
	found := map[string]int{}
	for name := range alertsNotCaused {
		found[name]++
	}
	for _, fault := range alertFaults {
		for _, name := range fault.alerts {
			found[name]++
		}
	}
	for line := range strings.Lines(rules) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- alert: "); ok {
			if found[name] != 1 {
				t.Errorf("%s has %d faults and reasons here, want 1", name, found[name])
			}
			delete(found, name)
		}
	}
	for name := range found {
		t.Errorf("there is no alert %s", name)
	}
}

// alertWorld is a server and its scrapes.
type alertWorld struct {
	*crashing
	pending []string // alerts that no episode has covered yet
	check   func(*episode)
}

// startEpisode starts the server with settings, indexes a repository and scrapes the
// server.
func (w *alertWorld) startEpisode(settings ...string) scrape {
	w.t.Helper()
	w.args = nil
	for _, s := range append(settings, "pipeline.reconcileGrace=100ms") {
		w.args = append(w.args, "--set", s)
	}
	w.startServer()
	w.indexTree()
	w.awaitWord("vuvuzela")
	return scrapeServer(w.server)
}

// verifyAlerts checks some alerts against an episode.
func (w *alertWorld) verifyAlerts(e *episode, alerts ...string) {
	w.t.Helper()
	e.alerts = alerts
	w.check(e)
	w.pending = slices.DeleteFunc(w.pending, func(name string) bool { return slices.Contains(alerts, name) })
}

// awaitMetric waits until wanted accepts the largest sample of a metric with the given
// labels.
func (w *alertWorld) awaitMetric(name, labels string, wanted func(float64) bool) float64 {
	w.t.Helper()
	var last float64
	if !pollUntil(func() bool {
		v, found := metricOf(w.server, name, labels)
		last = v
		return found && wanted(v)
	}) {
		w.t.Fatalf("%s{%s} is %v after %s\n%s", name, labels, last, hangDeadline, w.collectWarnings())
	}
	return last
}

func isPositive(v float64) bool { return v > 0 }
func isZero(v float64) bool     { return v == 0 }

// minGrowth is the growth of ages, in seconds, between two scrapes that are compared with
// the clock.
const minGrowth = 2

// scrapeGrowth returns two scrapes between which each age has grown by minGrowth or more,
// and by about one second per second. It repeats two scrapes between which one did not,
// because a busy machine may have delayed the server or a scrape.
func (w *alertWorld) scrapeGrowth(ages ...string) []scrape {
	w.t.Helper()
	for _, age := range ages {
		w.awaitMetric(age, "", isPositive)
	}
	e := &episode{during: []scrape{scrapeServer(w.server), {}}}
	if !pollUntil(func() bool {
		e.during[1] = scrapeServer(w.server)
		for _, age := range ages {
			if growth, _ := e.growthOf(age); growth < minGrowth {
				return false
			}
		}
		if slices.ContainsFunc(ages, func(age string) bool { return !e.growsWithClock(age) }) {
			e.during[0] = e.during[1]
			return false
		}
		return true
	}) {
		for _, age := range ages {
			growth, pace := e.growthOf(age)
			w.t.Errorf("%s grew by %.2f, %.2f a second, between the last two scrapes after %s, want %d or more, about 1 a second", age, growth, pace, hangDeadline, minGrowth)
		}
		w.t.FailNow()
	}
	return e.during
}

// restartServer stops the server and starts it with additional settings.
func (w *alertWorld) restartServer(settings ...string) {
	w.t.Helper()
	if err := w.server.stop(); err != nil {
		w.t.Fatal(err)
	}
	for _, s := range settings {
		w.args = append(w.args, "--set", s)
	}
	w.startServer()
}

func (w *alertWorld) failOnError(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// runQuarry runs a command of quarry against the server.
func (w *alertWorld) runQuarry(args ...string) {
	w.t.Helper()
	if out, err := exec.Command("quarry", append(args, "--server", w.server.url, "--data", w.data)...).CombinedOutput(); err != nil {
		w.t.Fatalf("quarry %v: %v\n%s\n%s", args, err, out, w.collectWarnings())
	}
}

func (w *alertWorld) killServer() {
	rest := w.startEpisode()
	w.server.killProcess()
	down := scrapeServer(w.server)
	w.startServer()
	w.verifyAlerts(&episode{before: []scrape{rest}, during: []scrape{down}, after: []scrape{scrapeServer(w.server)}}, "QuarryDown")
}

func (w *alertWorld) killServerOften() {
	e := episode{before: []scrape{w.startEpisode()}}
	for range 4 {
		w.server.killProcess()
		w.startServer()
		e.during = append(e.during, scrapeServer(w.server))
	}
	e.after = e.during[3:]
	w.verifyAlerts(&e, "QuarryRestarts")
}

func (w *alertWorld) forgeHook() {
	rest := w.startEpisode()
	body := []byte(`{"repository":"demo"}`)
	forged := signedHeader("msg_forged", body)
	forged.Set("webhook-signature", "v1,"+strings.Repeat("A", 43)+"=")
	if status, _, err := sendRequest(http.MethodPost, w.server.url+hookPath, forged, body); err != nil || status != http.StatusUnauthorized {
		w.t.Fatalf("forged: %d, %v", status, err)
	}
	seen := scrapeServer(w.server)
	w.verifyAlerts(&episode{before: []scrape{rest}, during: []scrape{seen}, after: []scrape{seen}}, "QuarryHooksUnauthenticated")
}

func (w *alertWorld) spoilSettings() {
	rest := w.startEpisode()
	settings, err := os.ReadFile(w.config)
	w.failOnError(err)
	reload := func(text string, wanted func(float64) bool) scrape {
		writeTextFile(w.t, w.config, text)
		w.failOnError(w.server.cmd.Process.Signal(syscall.SIGHUP))
		w.awaitMetric("quarry_server_reload_success", "", wanted)
		return scrapeServer(w.server)
	}
	e := episode{before: []scrape{rest}}
	e.during = append(e.during, reload("connections: [", isZero))
	e.after = append(e.after, reload(string(settings), isPositive))
	w.verifyAlerts(&e, "QuarryReloadFailed")
}

// refuseMembers runs a GitLab whose token may read a private project but, for some time,
// not its members.
func (w *alertWorld) refuseMembers() {
	project := object{
		"id": 7, "path_with_namespace": "meadow/hidden", "default_branch": "main",
		"visibility": "private",
	}
	var allowed atomic.Bool
	host := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var answer any
		switch path := r.URL.EscapedPath(); {
		case path == "/api/v4/projects/meadow%2Fhidden":
			answer = project
		case path != "/api/v4/projects/7/members/all":
			rw.WriteHeader(http.StatusNotFound)
			return
		case !allowed.Load():
			rw.WriteHeader(http.StatusForbidden)
			return
		default:
			answer = []object{}
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(answer) // the client reports an incomplete response
	}))
	w.t.Cleanup(host.Close)
	project["git_http_url"], project["http_url_to_repo"], project["web_url"] = host.URL+"/meadow/hidden.git", host.URL+"/meadow/hidden.git", host.URL+"/meadow/hidden"
	token := filepath.Join(w.dir, "token")
	writeTextFile(w.t, token, "secret\n")
	var settings object
	w.failOnError(json.Unmarshal([]byte(configText(w.dir)), &settings))
	settings["git"].(object)["allowedNetworks"] = []string{"127.0.0.0/8"}
	settings["connections"] = append(settings["connections"].([]any), object{
		"name": "lab", "kind": "gitlab", "url": host.URL, "token": "file:" + token, "discover": object{"projects": []string{"meadow/hidden"}},
		"permissions": object{"read": true, "emails": true, "interval": "5m"},
	})
	text, err := json.Marshal(settings)
	w.failOnError(err)
	writeTextFile(w.t, w.config, string(text))

	rest := w.startEpisode()
	w.runQuarry("connections", "sync", "lab", "--wait")
	w.restartServer() // it reads everything at its start
	w.awaitMetric("quarry_permissions_failing_repositories", `connection="lab"`, isPositive)
	old := scrapeServer(w.server)
	allowed.Store(true)
	w.restartServer()
	w.awaitMetric("quarry_permissions_oldest_read_timestamp_seconds", `connection="lab"`, isPositive)
	w.verifyAlerts(&episode{
		before: []scrape{rest}, during: []scrape{old}, after: []scrape{scrapeServer(w.server)},
		renewed: []string{"quarry_permissions_oldest_read_timestamp_seconds"},
	}, "QuarryPermissionsOld")
}

// expireCertificate serves HTTPS with a certificate that expires in two days.
func (w *alertWorld) expireCertificate() {
	certFile, keyFile := filepath.Join(w.dir, "cert.pem"), filepath.Join(w.dir, "key.pem")
	serve := func(until time.Time) scrape {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		w.failOnError(err)
		template := &x509.Certificate{SerialNumber: big.NewInt(until.Unix()), NotAfter: until, DNSNames: []string{"localhost"}}
		cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		w.failOnError(err)
		encoded, err := x509.MarshalPKCS8PrivateKey(key)
		w.failOnError(err)
		writeTextFile(w.t, certFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})))
		writeTextFile(w.t, keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})))
		address, err := loopback.FreeAddress()
		w.failOnError(err)
		w.server, err = launchServer(address, w.dir, w.environ(), "--config", w.config, "--data", w.data, "--set", "tls.certFile="+certFile, "--set", "tls.keyFile="+keyFile)
		w.failOnError(err)
		w.awaitMetric("quarry_server_certificate_expiry_timestamp_seconds", "", isPositive)
		seen := scrapeServer(w.server)
		w.failOnError(w.server.stop())
		return seen
	}
	days := func(n int) time.Time { return time.Now().AddDate(0, 0, n) }
	w.verifyAlerts(&episode{
		before: []scrape{serve(days(90))}, during: []scrape{serve(days(2))}, after: []scrape{serve(days(90))},
	}, "QuarryCertificateExpires")
}

// blockSnapshots puts a file where the folder of snapshots must be.
func (w *alertWorld) blockSnapshots() {
	rest := w.startEpisode()
	folder := filepath.Join(w.data, "segments", "snapshots")
	w.failOnError(os.RemoveAll(folder))
	writeTextFile(w.t, folder, "")
	w.restartServer("snapshots.interval=5m")
	w.awaitMetric("quarry_snapshots_list_failed", "", isPositive)
	blocked := scrapeServer(w.server)
	w.failOnError(os.Remove(folder))
	w.restartServer()
	w.awaitMetric("quarry_snapshots_newest_timestamp_seconds", "", isPositive)
	w.verifyAlerts(&episode{
		before: []scrape{rest}, during: []scrape{blocked}, after: []scrape{scrapeServer(w.server)},
		renewed: []string{"quarry_snapshots_newest_timestamp_seconds"},
	}, "QuarrySnapshotsOld")
}

func (w *alertWorld) giveUpPush() {
	rest := w.startEpisode("pipeline.maxAttempts=2")
	deliver, restore := w.loseObjects()
	deliver("msg_lost")
	w.awaitMetric("quarry_deadletters_open", `stage="worker"`, isPositive)
	lost := scrapeServer(w.server)
	restore()
	w.runQuarry("dlq", "replay", "--all")
	w.awaitWord("cittern")
	w.awaitMetric("quarry_deadletters_open", `stage="worker"`, isZero)
	w.verifyAlerts(&episode{before: []scrape{rest}, during: []scrape{lost}, after: []scrape{scrapeServer(w.server)}}, "QuarryDeadLetters")
}

// fillBacklog delivers a push that cannot be handled, and others that queue up after it.
func (w *alertWorld) fillBacklog() {
	rest := w.startEpisode("pipeline.maxAttempts=1000", "ingest.maxBacklog=2")
	deliver, restore := w.loseObjects()
	n := 0
	if !pollUntil(func() bool { n++; return deliver(fmt.Sprintf("msg_lost%d", n)) == http.StatusServiceUnavailable }) {
		w.t.Fatal("no webhook gets 503")
	}
	full := scrapeServer(w.server)
	restore()
	w.awaitWord("cittern")
	w.verifyAlerts(&episode{before: []scrape{rest}, during: []scrape{full}, after: []scrape{scrapeServer(w.server)}}, "QuarryBacklog")
}

func (w *alertWorld) loseHook() {
	rest := w.startEpisode("pipeline.reconcileInterval=1s")
	w.commitFile("second", "here is a cittern")
	w.awaitMetric("quarry_reconcile_drift_total", "", isPositive)
	seen := scrapeServer(w.server)
	w.verifyAlerts(&episode{before: []scrape{rest}, during: []scrape{seen}, after: []scrape{seen}}, "QuarryHooksAreLost")
}

// loseObjects commits and moves the objects of the repository away. It returns a function
// that delivers the push, which the worker then cannot handle, and a function that
// restores the objects.
func (c *crashing) loseObjects() (delivered func(id string) (status int), restore func()) {
	c.t.Helper()
	c.commitFile("second", "here is a cittern")
	at := commitOf(c.tree, "HEAD")
	objects, away := filepath.Join(c.tree, ".git", "objects"), filepath.Join(c.tree, ".git", "away")
	rename := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			c.t.Fatal(err)
		}
	}
	rename(objects, away)
	return func(id string) int {
		status, answer, err := deliverPush(c.server.url, id, push{Repository: c.tree, Ref: "refs/heads/main", After: at})
		if err != nil || status != http.StatusAccepted && status != http.StatusServiceUnavailable {
			c.t.Fatalf("push: %d %s, %v", status, answer, err)
		}
		return status
	}, func() { rename(away, objects) }
}

// slowHost is an HTTP code host that can be made to accept requests without answering.
type slowHost struct {
	server *httptest.Server
	mu     struct {
		sync.Mutex
		hangs chan struct{} // closed when it answers again; nil while it answers
	}
}

func newSlowHost(t *testing.T, root string) *slowHost {
	t.Helper()
	backend := gittest.HTTPHandler(t, root)
	h := new(slowHost)
	h.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		hangs := h.mu.hangs
		h.mu.Unlock()
		if hangs != nil {
			select {
			case <-hangs:
			case <-r.Context().Done():
				return
			}
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(h.server.Close)
	t.Cleanup(h.releaseRequests)
	return h
}

func (h *slowHost) blockRequests() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.hangs = make(chan struct{})
}

func (h *slowHost) releaseRequests() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.hangs != nil {
		close(h.mu.hangs)
		h.mu.hangs = nil
	}
}

// windowPushes is more pushes than a worker reads ahead (worker.MaxWindowRecords).
// slowPush is longer than a push may take (QuarryPushesAreSlow).
const (
	windowPushes = 4300
	slowPush     = 61 * time.Second
)

// hangHost makes a code host hang, moves the server's clock by slowPush, and makes the
// host answer.
func (w *alertWorld) hangHost() {
	moveClock := w.useClock()
	host := newSlowHost(w.t, w.dir)
	url := host.server.URL + "/demo"
	settings := []string{"log.partitions=1", "git.allowedNetworks=127.0.0.0/8", "pipeline.reconcileInterval=1s", "pipeline.reconcileConcurrency=1", "limits.perSecond=0"}
	w.startEpisode(settings...)
	w.runQuarry("index", "--name", "remote", url)
	rest := scrapeServer(w.server)

	w.commitFile("second", "here is a cittern")
	at := commitOf(w.tree, "HEAD")
	host.blockRequests()
	took := func(id string) {
		status, answer, err := deliverPush(w.server.url, id, push{Repository: url, Ref: "refs/heads/main", After: at})
		if err != nil || status != http.StatusAccepted {
			w.t.Errorf("push: %d %s, %v", status, answer, err)
		}
	}
	took("msg_slow")
	var senders sync.WaitGroup
	for sender := range 16 {
		senders.Go(func() {
			for n := sender; n < windowPushes && !w.t.Failed(); n += 16 {
				took(fmt.Sprintf("msg_behind%d", n))
			}
		})
	}
	senders.Wait()
	w.awaitMetric("quarry_worker_window_full", "", isPositive)
	ages := []string{"quarry_reconcile_overdue_seconds", "quarry_worker_oldest_seconds"}
	during := w.scrapeGrowth(ages...)
	searchable, _ := metricOf(w.server, "quarry_push_to_searchable_seconds_count", "")
	moveClock(slowPush)
	host.releaseRequests()
	w.awaitMetric("quarry_push_to_searchable_seconds_count", "", func(v float64) bool { return v > searchable })
	slow := scrapeServer(w.server)
	w.awaitMetric("quarry_worker_window_full", "", isZero)
	w.awaitMetric("quarry_worker_oldest_seconds", "", isZero)
	w.awaitMetric("quarry_reconcile_overdue_seconds", "", func(v float64) bool { return v < 60 })
	after := scrapeServer(w.server)
	w.verifyAlerts(&episode{before: []scrape{rest}, during: during, after: []scrape{after}, ages: ages}, "QuarryReconcileLags", "QuarryWorkerHeldUp")
	w.verifyAlerts(&episode{before: []scrape{rest}, during: []scrape{slow}, after: []scrape{after}}, "QuarryPushesAreSlow")
}

// smallDisk is an in-memory file system.
type smallDisk struct {
	t    *testing.T
	dir  string
	stop chan struct{}
	full sync.WaitGroup
}

// mountSmallDisk mounts a small disk. It skips the test without root.
func mountSmallDisk(t *testing.T, dir string, bytes int) *smallDisk {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, fmt.Sprintf("size=%d,mode=700", bytes)); err != nil {
		if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
			t.Fatalf("a full disk needs a separate file system, which only root can mount: %v", err)
		}
		t.Skipf("a full disk needs a separate file system, which only root can mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return &smallDisk{t: t, dir: dir}
}

func (d *smallDisk) ballastPath() string { return filepath.Join(d.dir, "ballast") }

// fillDisk uses all space except for left bytes.
func (d *smallDisk) fillDisk(left int64) error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.dir, &s); err != nil {
		return err
	}
	file, err := os.OpenFile(d.ballastPath(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	take := int64(s.Bavail)*s.Bsize - left
	if err != nil || take <= 0 {
		return err
	}
	if err := syscall.Fallocate(int(file.Fd()), 0, info.Size(), take); err != nil && !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return nil
}

// keepFull uses all space that becomes free, such as the server's reserve, until the disk
// is emptied.
func (d *smallDisk) keepFull() {
	d.stop = make(chan struct{})
	d.full.Go(func() {
		tick := time.NewTicker(minPollInterval)
		defer tick.Stop()
		for {
			if err := d.fillDisk(0); err != nil {
				d.t.Error(err)
				return
			}
			select {
			case <-tick.C:
			case <-d.stop:
				return
			}
		}
	})
}

func (d *smallDisk) removeBallast() {
	d.t.Helper()
	close(d.stop)
	d.full.Wait()
	if err := os.Remove(d.ballastPath()); err != nil {
		d.t.Fatal(err)
	}
}

const (
	smallDiskBytes = 256 << 20
	// fillingBytes is less than a fifth of the disk, and more than the server requires.
	fillingBytes = 40 << 20
	// searchesPerPoll is the number of searches, and so of audit records, between two looks
	// at the metrics.
	searchesPerPoll = 20
	// minAuditQueue is the size that requests fill before they are refused.
	minAuditQueue = "64KiB"
)

// fillDisk fills the disk of the data directory while searches continue.
func (w *alertWorld) fillDisk() {
	disk := mountSmallDisk(w.t, w.data, smallDiskBytes)
	rest := w.startEpisode("storage.minFreeBytes=16MiB", "audit.queueBytes="+minAuditQueue, "audit.maxWait=50ms", "limits.perSecond=0", "limits.anonymousPerSecond=0", "pipeline.maxAttempts=1000")
	w.failOnError(disk.fillDisk(fillingBytes))
	w.awaitMetric("quarry_server_disk_free_bytes", `directory="data"`, func(v float64) bool { return v < 0.2*smallDiskBytes })
	filling := scrapeServer(w.server)
	delivered, restore := w.loseObjects()
	delivered("msg_waits")
	disk.keepFull()
	w.awaitMetric("quarry_server_disk_low", "", isPositive)
	word := strings.Repeat("sackbut ", 60) // the audit entry of a search contains its text
	pollUntil(func() bool {
		for range searchesPerPoll {
			_, _ = countMatches(w.server.url, word) // 503 once there is no space
		}
		refused, _ := metricOf(w.server, "quarry_audit_refused_total", "")
		return refused > 0
	})
	w.awaitMetric("quarry_audit_refused_total", "", isPositive)
	w.awaitMetric("quarry_worker_paused", `reason="unavailable"`, isPositive)
	full := w.scrapeGrowth("quarry_audit_queue_oldest_seconds")
	restore()
	disk.removeBallast()
	w.awaitMetric("quarry_server_disk_low", "", isZero)
	w.awaitMetric("quarry_audit_queue_oldest_seconds", "", isZero)
	w.awaitWord("cittern")
	w.awaitMetric("quarry_worker_paused", `reason="unavailable"`, isZero)
	after := scrapeServer(w.server)
	w.verifyAlerts(&episode{before: []scrape{rest}, during: []scrape{filling}, after: []scrape{after}}, "QuarryDiskFilling")
	w.verifyAlerts(&episode{before: []scrape{rest}, during: full, after: []scrape{after}, ages: []string{"quarry_audit_queue_oldest_seconds"}},
		"QuarryDiskFull", "QuarryWorkersPaused", "QuarryAuditWaits", "QuarryAuditLost")
}

// fillAccountsDisk fills the disk of the accounts, so that they no longer follow the log.
func (w *alertWorld) fillAccountsDisk() {
	accounts := filepath.Join(w.dir, "accounts")
	disk := mountSmallDisk(w.t, accounts, 96<<20)
	rest := w.startEpisode("storage.accounts="+accounts, "storage.minFreeBytes=16MiB", "limits.perSecond=0", "limits.anonymousPerSecond=0")
	disk.keepFull()
	pollUntil(func() bool {
		for range searchesPerPoll {
			if _, err := countMatches(w.server.url, "vuvuzela"); err != nil {
				w.t.Fatal(err)
			}
		}
		lag, _ := metricOf(w.server, "quarry_accounts_lag_seconds", "")
		return lag >= 2
	})
	ages := []string{"quarry_accounts_lag_seconds"}
	during := w.scrapeGrowth(ages...)
	disk.removeBallast()
	w.awaitMetric("quarry_accounts_lag_seconds", "", isZero)
	w.verifyAlerts(&episode{before: []scrape{rest}, during: during, after: []scrape{scrapeServer(w.server)}, ages: ages}, "QuarryAccountsBehind")
}

// manifestFiles is too many files for an event, so that their changes are an object of
// the segment store.
const manifestFiles = 1100

// breakSegmentStore makes the segment store fail, and then removes its content while the
// repository cannot be read.
func (w *alertWorld) breakSegmentStore() {
	for n := range manifestFiles {
		writeTextFile(w.t, filepath.Join(w.tree, fmt.Sprintf("file%d.txt", n)), fmt.Sprintf("kettle%d\n", n))
	}
	w.startEpisode("pipeline.maxAttempts=1000", "pipeline.mergeInterval=0")
	w.commitFile("many", "here is a cittern")
	status, answer, err := deliverPush(w.server.url, "msg_many", push{Repository: w.tree, Ref: "refs/heads/main", After: commitOf(w.tree, "HEAD")})
	if err != nil || status != http.StatusAccepted {
		w.t.Fatalf("push: %d %s, %v", status, answer, err)
	}
	w.awaitWord("cittern")
	rest := scrapeServer(w.server)

	// A segment cannot be read, and the projections need it.
	w.failOnError(w.server.stop())
	w.failOnError(os.RemoveAll(filepath.Join(w.data, "projections")))
	segment := w.segmentPaths("segment-*")[0]
	w.failOnError(os.Rename(segment, filepath.Join(w.dir, "segment")))
	w.failOnError(os.Mkdir(segment, 0o700))
	w.launchServer()
	w.awaitMetric("quarry_projections_blocked", "", isPositive)
	ages := []string{"quarry_projections_lag_seconds"}
	during := w.scrapeGrowth(ages...)
	w.failOnError(os.Remove(segment))
	w.failOnError(os.Rename(filepath.Join(w.dir, "segment"), segment))
	w.awaitWord("cittern")
	w.awaitMetric("quarry_projections_blocked", "", isZero)
	w.awaitMetric("quarry_projections_lag_seconds", "", isZero)
	after := scrapeServer(w.server)
	w.verifyAlerts(&episode{before: []scrape{rest}, during: during, after: []scrape{after}, ages: ages}, "QuarryProjectionsWait", "QuarryProjectionsLag")

	// The segments are lost while the projections are complete.
	away := w.tree + ".away"
	w.failOnError(os.Rename(w.tree, away))
	for _, path := range w.segmentPaths("*-*") {
		w.failOnError(os.Remove(path))
	}
	w.awaitMetric("quarry_projections_unstored_documents", "", isPositive)
	unstored := scrapeServer(w.server)
	w.failOnError(os.Rename(away, w.tree))
	w.awaitMetric("quarry_projections_unstored_documents", "", isZero)
	stored := scrapeServer(w.server)
	w.verifyAlerts(&episode{before: []scrape{after}, during: []scrape{unstored}, after: []scrape{stored}}, "QuarryDocumentsUnstored")

	// The segments and the projections are lost.
	w.failOnError(w.server.stop())
	w.failOnError(os.Rename(w.tree, away))
	for _, name := range []string{"projections", "segments"} {
		w.failOnError(os.RemoveAll(filepath.Join(w.data, name)))
	}
	w.startServer()
	w.awaitMetric("quarry_places_unheld_documents", "", isPositive)
	missing := scrapeServer(w.server)
	w.failOnError(os.Rename(away, w.tree))
	w.awaitWord("cittern")
	w.awaitMetric("quarry_places_unheld_documents", "", isZero)
	w.awaitMetric("quarry_places_broken_refs", "", isZero)
	w.verifyAlerts(&episode{before: []scrape{stored}, during: []scrape{missing}, after: []scrape{scrapeServer(w.server)}}, "QuarryDocumentsMissing")
}

// launchServer starts the server and waits until it answers, although it may not be
// ready.
func (w *alertWorld) launchServer() {
	w.t.Helper()
	address, err := loopback.FreeAddress()
	w.failOnError(err)
	s, err := launchServer(address, w.dir, w.environ(), append([]string{"--config", w.config, "--data", w.data}, w.args...)...)
	w.failOnError(err)
	w.server = s
	if !pollUntil(func() bool { return s.hasExited() || s.getStatus("/healthz") == http.StatusOK }) || s.hasExited() {
		w.t.Fatalf("the server does not answer: %s", s.output)
	}
}

// segmentPaths returns the objects of the segment store whose names match.
func (w *alertWorld) segmentPaths(pattern string) []string {
	w.t.Helper()
	paths, err := filepath.Glob(filepath.Join(w.data, "segments", pattern))
	if err != nil || len(paths) == 0 {
		w.t.Fatalf("no object %s: %v", pattern, err)
	}
	return paths
}

// hangMirror makes a read of the mirror hang, as on an unavailable network file system,
// removes the repository in the meantime, and then damages a segment of another one.
func (w *alertWorld) hangMirror() {
	rest := w.startEpisode("pipeline.mergeInterval=0", "pipeline.purgeAfter=1s", "storage.scrubBytesPerSecond=1GiB")
	other := filepath.Join(w.dir, "other")
	// Do not clone: a clone would still contain the text of the removed repository.
	w.failOnError(runGit("", "init", "-q", "-b", "main", other))
	writeTextFile(w.t, filepath.Join(other, "kettle.txt"), "here is a kettledrum\n")
	w.failOnError(runGit(other, "add", "-A"))
	w.failOnError(runGit(other, "commit", "-q", "-m", "kettle"))
	w.runQuarry("index", "--name", "other", other)
	heads, err := filepath.Glob(filepath.Join(w.data, "mirrors", "*", "*", "git", "HEAD"))
	if err != nil || len(heads) != 2 {
		w.t.Fatalf("mirrors: %v, %v", heads, err)
	}
	var pipes []*os.File
	for _, head := range heads {
		w.failOnError(os.Remove(head))
		w.failOnError(syscall.Mkfifo(head, 0o600))
		pipe, err := os.OpenFile(head, os.O_RDWR, 0) // a reader waits for this writer
		w.failOnError(err)
		w.t.Cleanup(func() { _ = pipe.Close() })
		pipes = append(pipes, pipe)
	}
	w.commitFile("second", "here is a cittern")
	status, answer, err := deliverPush(w.server.url, "msg_hangs", push{Repository: w.tree, Ref: "refs/heads/main", After: commitOf(w.tree, "HEAD")})
	if err != nil || status != http.StatusAccepted {
		w.t.Fatalf("push: %d %s, %v", status, answer, err)
	}
	w.awaitMetric("quarry_worker_running_lanes", "", isPositive)
	w.removeRepository("demo")
	w.awaitMetric("quarry_worker_hanging_lanes", "", isPositive)
	hangs := scrapeServer(w.server)
	ages := []string{"quarry_places_removed_text_age_seconds"}
	removed := w.scrapeGrowth(ages...)
	for _, pipe := range pipes {
		w.failOnError(pipe.Close())
	}
	w.awaitMetric("quarry_worker_hanging_lanes", "", isZero)
	released := scrapeServer(w.server)
	w.verifyAlerts(&episode{before: []scrape{rest}, during: []scrape{hangs}, after: []scrape{released}}, "QuarryWorkerHangs")
	for _, head := range heads {
		if err := os.Remove(head); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.t.Fatal(err)
		}
	}
	w.restartServer("pipeline.mergeInterval=1s")
	w.awaitMetric("quarry_places_removed_text_age_seconds", "", isZero)
	purged := scrapeServer(w.server)
	w.verifyAlerts(&episode{before: []scrape{rest}, during: removed, after: []scrape{purged}, ages: ages}, "QuarryRemovedTextStays")

	w.failOnError(w.server.stop())
	file, what := damageFile(w.t, w.data, damagedKind{pattern: "segments/segment-*", links: twoNames, apart: true}, 0)
	w.t.Logf("damaged %s: %s", file, what)
	w.startServer()
	w.awaitMetric("quarry_scrub_damaged_files", `store="segments"`, isPositive)
	damaged := scrapeServer(w.server)
	w.awaitWord("kettledrum")
	w.restartServer()
	w.awaitMetric("quarry_scrub_last_pass_timestamp_seconds", "", isPositive)
	w.awaitMetric("quarry_scrub_damaged_files", "", isZero)
	w.verifyAlerts(&episode{before: []scrape{purged}, during: []scrape{damaged}, after: []scrape{scrapeServer(w.server)}}, "QuarryDamagedFiles")
}

// removeRepository removes a repository by name.
func (w *alertWorld) removeRepository(name string) {
	w.t.Helper()
	_, answer, err := sendRequest(http.MethodGet, w.server.url+"/api/repos", http.Header{}, nil)
	w.failOnError(err)
	var repositories []struct {
		ID   int64  `json:"repoId"`
		Name string `json:"repoName"`
	}
	w.failOnError(json.Unmarshal([]byte(answer), &repositories))
	for _, r := range repositories {
		if r.Name == name {
			status, answer, err := sendRequest(http.MethodDelete, fmt.Sprintf("%s/api/repos/%d", w.server.url, r.ID), http.Header{}, nil)
			if err != nil || status != http.StatusAccepted {
				w.t.Fatalf("remove: %d %s, %v", status, answer, err)
			}
			return
		}
	}
	w.t.Fatalf("no repository %s in %s", name, answer)
}

// cutAuditLog removes the beginning of the audit log, together with the rows that know
// its seals, and restores it from a copy.
func (w *alertWorld) cutAuditLog() {
	w.startEpisode("audit.sealEvery=1s", "limits.anonymousPerSecond=0")
	w.awaitMetric("quarry_audit_sealed_timestamp_seconds", "", isPositive)
	rest := scrapeServer(w.server)
	// The last record is one that no seal covers. It stays, because a server seals a log
	// without records.
	w.restartServer("audit.sealEvery=1h")
	if _, err := countMatches(w.server.url, "vuvuzela"); err != nil {
		w.t.Fatal(err)
	}
	w.failOnError(w.server.stop())
	log, copied := filepath.Join(w.data, "log"), filepath.Join(w.dir, "log")
	w.failOnError(copyTree(log, copied))
	w.cutTopic(log, event.TopicAudit)
	w.failOnError(os.RemoveAll(filepath.Join(w.data, "accounts")))
	w.args = append(w.args, "--set", "audit.sealEvery=1s")
	w.startServer()
	head := func() float64 {
		v, _ := metricOf(w.server, "quarry_audit_head_offset", string(event.TopicAudit))
		return v
	}
	searchUntil := func(done func() bool) {
		w.t.Helper()
		if !pollUntil(func() bool { _, err := countMatches(w.server.url, "vuvuzela"); w.failOnError(err); return done() }) {
			w.t.Fatalf("the audit log does not go on: its head is %v\n%s", head(), w.collectWarnings())
		}
	}
	searchUntil(func() bool { return head() >= 0 })
	during := []scrape{scrapeServer(w.server)}
	began := head()
	searchUntil(func() bool { return head() > began+5 })
	during = append(during, scrapeServer(w.server))

	w.failOnError(w.server.stop())
	w.failOnError(os.RemoveAll(filepath.Join(w.data, "accounts")))
	w.failOnError(os.RemoveAll(log))
	w.failOnError(os.Rename(copied, log))
	w.startServer()
	searchUntil(func() bool { v, _ := metricOf(w.server, "quarry_audit_sealed_timestamp_seconds", ""); return v > 0 })
	w.verifyAlerts(&episode{before: []scrape{rest}, during: during, after: []scrape{scrapeServer(w.server)}}, "QuarryAuditNotSealed")
}

// cutTopic deletes all records of a topic but the last from the log of a stopped server.
func (w *alertWorld) cutTopic(dir string, topic event.Topic) {
	w.t.Helper()
	log, err := embeddedlog.Open(dir, embeddedlog.Options{})
	w.failOnError(err)
	high, err := log.HighWater(w.t.Context(), topic)
	if err == nil {
		err = log.Trim(w.t.Context(), topic, 0, high[0]-1)
	}
	w.failOnError(errors.Join(err, log.Close()))
}

// appendPoison appends a revision that cannot be decoded to the log of the stopped
// server.
func (w *alertWorld) appendPoison() {
	rest := w.startEpisode()
	w.failOnError(w.server.stop())
	revision := &event.RevisionIndexed{
		Repository: 1, Ref: "refs/heads/main", IndexedAt: time.Now(), PushedAt: time.Now(), Cause: event.Position{Topic: event.TopicEvents},
	}
	record, err := event.Encode(event.Envelope{ID: "poison", Source: "/test", Time: time.Now()}, revision)
	w.failOnError(err)
	record.Value = []byte("\x00this is no event")
	log, err := embeddedlog.Open(filepath.Join(w.data, "log"), embeddedlog.Options{})
	w.failOnError(err)
	_, err = log.Append(w.t.Context(), event.TopicEvents, eventlog.AnyPartition, record)
	w.failOnError(errors.Join(err, log.Close()))
	w.startServer()
	w.awaitMetric("quarry_projections_records_total", `result="poison"`, isPositive)
	seen := scrapeServer(w.server)
	w.verifyAlerts(&episode{before: []scrape{rest}, during: []scrape{seen}, after: []scrape{seen}}, "QuarryPoisonRecords")
}

// loseBroker kills the only broker while a change is made, and restarts it with an older
// copy of its records, as after a restored disk. A separate process receives the
// webhooks, because a process that reads the log ends when its records are gone.
func (w *alertWorld) loseBroker() {
	broker, err := brokers.Start(w.t.Context(), brokers.Options{Dir: filepath.Join(w.dir, "kafka")})
	if errors.Is(err, brokers.ErrUnavailable) && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		w.t.Skip(err)
	}
	w.failOnError(err)
	w.t.Cleanup(func() { w.failOnError(broker.Close()) })
	writeTextFile(w.t, w.config, kafkaConfiguration(w.dir, map[string]any{"brokers": broker.Addresses}))
	rest := w.startEpisode("roles=pipeline,query", "audit.maxWait=500ms")
	ingest, err := startServer(w.dir, os.Environ(), "--config", w.config, "--data", filepath.Join(w.dir, "ingest"), "--role", "ingest")
	w.failOnError(err)
	w.t.Cleanup(ingest.killProcess)
	deliverCommit := func(word string) int {
		w.commitFile(word, "here is a "+word)
		status, _, err := deliverPush(ingest.url, "msg_"+word, push{Repository: w.tree, Ref: "refs/heads/main", After: commitOf(w.tree, "HEAD")})
		w.failOnError(err)
		return status
	}
	acknowledged := func(words ...string) {
		w.t.Helper()
		for _, word := range words {
			if status := deliverCommit(word); status != http.StatusAccepted {
				w.t.Fatalf("push of %s: %d", word, status)
			}
			w.awaitWord(word)
		}
	}
	restIngest := scrapeServer(ingest)
	acknowledged("cittern")
	data, copied := filepath.Join(w.dir, "kafka", "broker-0", "data"), filepath.Join(w.dir, "copied")
	partitions, err := filepath.Glob(filepath.Join(data, string(event.TopicEvents)+"-*"))
	if err != nil || len(partitions) == 0 {
		w.t.Fatalf("partitions: %v, %v", partitions, err)
	}
	for _, dir := range partitions {
		w.failOnError(copyTree(dir, filepath.Join(copied, filepath.Base(dir))))
	}
	acknowledged("sackbut", "crumhorn")

	w.failOnError(broker.Kill(0))
	status, answer, err := sendRequest(http.MethodPost, w.server.url+"/api/replays", http.Header{"Content-Type": {"application/json"}}, []byte(`{"projection":"places"}`))
	w.t.Logf("a replay while the broker is away: %d %s, %v", status, answer, err)
	w.awaitMetric("quarry_api_unrecorded_changes_total", "", isPositive)
	unrecorded := scrapeServer(w.server)
	w.verifyAlerts(&episode{before: []scrape{rest}, during: []scrape{unrecorded}, after: []scrape{unrecorded}}, "QuarryUnrecordedChanges")

	for _, dir := range partitions {
		w.failOnError(os.RemoveAll(dir))
		w.failOnError(os.Rename(filepath.Join(copied, filepath.Base(dir)), dir))
	}
	w.failOnError(broker.Restart(0))
	w.failOnError(broker.Await(w.t.Context()))
	n := 0
	if !pollUntil(func() bool {
		n++
		deliverCommit(fmt.Sprintf("rebec%d", n))
		lost, _ := metricOf(ingest, "quarry_kafkalog_producer_restarts_total", `reason="out of order"`)
		return lost > 0
	}) {
		w.t.Fatalf("the lost records do not show\n%s", ingest.output)
	}
	lost := scrapeServer(ingest)
	w.verifyAlerts(&episode{before: []scrape{restIngest}, during: []scrape{lost}, after: []scrape{lost}}, "QuarryKafkaLostRecords")
	w.t.Logf("the process that reads the records has ended: %t", w.server.hasExited())
}
