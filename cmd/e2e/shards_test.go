package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/loopback"
	"github.com/quarrysearch/quarry/cmd/internal/traces/tracestest"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
)

// shardCluster is a deployment with a query node that holds everything, shards, and a front.
type shardCluster struct {
	*replicas
	whole, front *server
	shares       []string // of the shards
	shards       []*server
	peers        []string  // addresses of the shards
	gitPeers     [2]string // addresses of workers; empty if they answer no git reads
	repositories []string
	spans        *tracestest.Collector
}

// startShard starts the shard with a number.
func (c *shardCluster) startShard(number int) *server {
	return c.startWith(fmt.Sprintf("shard-%d", number), "shard.share="+c.shares[number], "shard.listen="+c.peers[number], "snapshots.interval=10s")
}

// startWith starts a query node with more settings.
func (c *shardCluster) startWith(name string, settings ...string) *server {
	before := c.settings
	defer func() { c.settings = before }()
	c.settings = slices.Concat(before, settings)
	return c.startNode(name, "query")
}

// send sends a request as the operator and returns the status and the body, decoded and without
// what differs between two answers to the same request: times, work and positions, which move with
// each record.
func send(t *testing.T, s *server, method, path string, body any) (int, map[string]any) {
	t.Helper()
	return sendAs(t, s, "", method, path, body)
}

// sendAs is send with a key, unless it is empty.
func sendAs(t *testing.T, s *server, key, method, path string, body any) (int, map[string]any) {
	t.Helper()
	encoded, err := json.Marshal(body)
	must(t, err)
	r, err := http.NewRequest(method, s.url+path, bytes.NewReader(encoded))
	must(t, err)
	r.Header.Set("Content-Type", "application/json")
	client := clientOf(strings.TrimPrefix(s.url, "http://"))
	if key != "" {
		client = http.DefaultClient
		r.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := client.Do(r)
	must(t, err)
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	must(t, err)
	out := map[string]any{}
	if err := json.Unmarshal(text, &out); err != nil {
		out["body"] = string(text)
	}
	delete(out, "requestId")
	if stats, ok := out["stats"].(map[string]any); ok {
		maps.DeleteFunc(stats, func(name string, _ any) bool {
			return !slices.Contains([]string{"actualMatchCount", "totalMatchCount", "fileCount", "matchCount", "textMatchCount"}, name)
		})
	}
	delete(out, "position")
	delete(out, "appliedPosition")
	return response.StatusCode, out
}

// shardsAndFront compares the answers of a front with those of a process with everything,
// kills and freezes a shard, and starts processes with settings that do not agree.
func shardsAndFront(t *testing.T, broker *kafkatest.Broker) {
	c := &shardCluster{shares: []string{"0/2", "1/2", "1/2"}}
	for i := range c.gitPeers {
		var err error
		c.gitPeers[i], err = loopback.FreeAddress()
		must(t, err)
	}
	certFile, keyFile := writePeerCertificate(t)
	c.spans = tracestest.Start(t)
	c.replicas = startReplicas(t, broker, "tracing.endpoint="+c.spans.URL, "tracing.sampleRatio=1", "query.maxLag=10s",
		"git.peers="+strings.Join(c.gitPeers[:], ","), "git.listen="+c.gitPeers[0],
		"peerTls.certFile="+certFile, "peerTls.keyFile="+keyFile, "peerTls.caFile="+certFile, "peerTls.clientCertificates=true")
	c.startShards()
	t.Run("same answers", c.compareAnswers)
	t.Run("refused operations", c.checkRefusals)
	t.Run("precise index", c.checkPreciseIndex)
	t.Run("snapshots", c.checkSnapshots)
	t.Run("replay of all shards", c.checkReplay)
	t.Run("verification", c.checkVerification)
	t.Run("erasure", c.checkErasure)
	t.Run("doctor", c.checkDoctor)
	t.Run("backup", c.checkBackup)
	t.Run("read your writes", c.checkPosition)
	t.Run("traces", c.checkTraces)
	t.Run("private repositories", c.checkPrivate)
	t.Run("history and blame", c.checkGit)
	t.Run("frozen replica", func(t *testing.T) {
		c.searchDuring(t, func() { freeze(t, c.shards[1]) })
		logged := len(c.front.output.String())
		must(t, c.shards[1].cmd.Process.Signal(syscall.SIGCONT))
		c.awaitLogged(t, logged, "shard is reached")
	})
	rest := scrapeServer(c.front)
	t.Run("killed replica", func(t *testing.T) { c.searchDuring(t, c.shards[2].killProcess) })
	t.Run("no replica is left", func(t *testing.T) {
		freeze(t, c.shards[1])
		c.checkLoss(t)
		must(t, c.shards[1].cmd.Process.Signal(syscall.SIGCONT))
		c.checkReturn(t)
		c.shards[1].killProcess()
		c.checkLoss(t)
		c.awaitReplicas(t, "1/2", 0)
		lost := scrapeServer(c.front)
		c.shards[1], c.shards[2] = c.startShard(1), c.startShard(2)
		c.checkReturn(t)
		c.checkAlerts(t, rest, lost)
	})
	t.Run("partitions move", c.movePartitions)
	t.Run("settings that do not agree", c.checkSettings)
}

// startShards indexes more repositories and starts the shards and a front, which becomes complete.
func (c *shardCluster) startShards() {
	c.t.Helper()
	c.whole, c.server = c.queries[0], c.queries[0]
	c.repositories = []string{"demo"}
	for i := range 12 { // all in one shard once in 4,096 times
		c.addRepository(fmt.Sprintf("other%d", i))
	}
	for i := range c.shares {
		address, err := loopback.FreeAddress()
		must(c.t, err)
		c.peers = append(c.peers, address)
		c.shards = append(c.shards, c.startShard(i))
	}
	c.front = c.startFront("front")
}

// startFront starts a front of the shards, and waits until it is complete.
func (c *shardCluster) startFront(name string) *server {
	c.t.Helper()
	var peers []string
	for i, share := range c.shares {
		peers = append(peers, share+"@"+c.peers[i])
	}
	front := c.startWith(name, "shard.peers="+strings.Join(peers, ","))
	if !pollUntil(func() bool {
		_, answer, err := front.search(map[string]any{"query": "here", "matches": 100}, nil)
		return err == nil && answer.Exhaustive
	}) {
		c.t.Fatalf("the front does not become complete:\n%s", front.output.String())
	}
	return front
}

// addRepository indexes a repository with two files.
func (c *shardCluster) addRepository(name string) {
	other := &crashing{t: c.t, dir: c.dir, tree: filepath.Join(c.dir, name), server: c.server}
	must(c.t, runGit("", "init", "-q", "-b", "main", other.tree))
	writeTextFile(c.t, filepath.Join(other.tree, "main.go"), "package main\n\n// Strum"+name+" plays here.\nfunc Strum"+name+"() { Strum"+name+"() }\n")
	other.commitFile("first", "here is a "+name)
	if out, err := exec.Command("quarry", "index", "--server", c.server.url, "--data", c.server.data, "--name", name, other.tree).CombinedOutput(); err != nil {
		c.t.Fatalf("quarry index: %v\n%s", err, out)
	}
	c.repositories = append(c.repositories, name)
}

// request is a request of the API.
type request struct {
	method, path string
	body         any
}

// compareAnswers compares the answers of the front with those of the whole process.
func (c *shardCluster) compareAnswers(t *testing.T) {
	var requests []request
	for _, query := range []string{"here", "here or plays", "Strumother1", "lang:go func", "file:main.go", "repo:other3 here", "nothingatall", "Strumothr2", "sym:Strumother4"} {
		requests = append(requests, request{http.MethodPost, "/api/search", map[string]any{"query": query, "matches": 100, "facets": true}})
	}
	for _, name := range c.repositories {
		q := url.QueryEscape(name)
		requests = append(requests,
			request{http.MethodGet, "/api/find_files?query=main&repo=" + q, nil},
			request{http.MethodGet, "/api/symbols?repo=" + q, nil},
			request{http.MethodGet, "/api/source?path=first.txt&repo=" + q, nil},
			request{http.MethodGet, "/api/source?path=no/such&repo=" + q, nil},
			request{http.MethodGet, "/api/folder_contents?path=&revisionName=HEAD&repoName=" + q, nil},
			request{http.MethodPost, "/api/files", map[string]any{"repoName": name, "revisionName": "HEAD"}},
			request{http.MethodPost, "/api/tree", map[string]any{"repoName": name, "revisionName": "main", "paths": []string{""}}},
			request{http.MethodPost, "/api/find_definitions", map[string]any{"symbolName": "Strum" + name, "language": "Go", "revisionName": "HEAD"}},
			request{http.MethodPost, "/api/find_references", map[string]any{"symbolName": "Strum" + name, "language": "Go", "revisionName": "HEAD"}},
			request{http.MethodPost, "/api/find_references", map[string]any{"symbolName": "Strum" + name, "language": "Go", "revisionName": "main"}},
			request{http.MethodPost, "/api/hover", map[string]any{"symbolName": "Strum" + name, "position": map[string]any{
				"repoName": name, "revisionName": "main", "path": "main.go", "lineNumber": 4,
			}}},
		)
	}
	for i := range c.repositories {
		requests = append(requests, request{http.MethodGet, fmt.Sprintf("/api/repos/%d/status", i+1), nil})
	}
	answered := 0
	for _, r := range requests {
		if status, _ := c.compareAnswer(t, "", r); status == http.StatusOK {
			answered++
		}
	}
	if answered < len(requests)*9/10 {
		t.Errorf("only %d of %d requests are answered with 200", answered, len(requests))
	}
}

// compareAnswer compares the answer of the front to a request with that of the whole process,
// and returns it. The search for suggestions ends after a share of query.timeout, so that a busy
// process has fewer: answers with suggestions are compared until they are equal, and all those of
// the front are returned.
func (c *shardCluster) compareAnswer(t *testing.T, key string, r request) (status int, seen string) {
	t.Helper()
	ask := func(s *server) (int, string) {
		status, answer := sendAs(t, s, key, r.method, r.path, r.body)
		return status, strings.ReplaceAll(mustJSON(t, answer), s.url, "URL")
	}
	var wantStatus int
	var got, want string
	pollUntil(func() bool {
		wantStatus, want = ask(c.whole)
		status, got = ask(c.front)
		seen += got
		return status == wantStatus && got == want || !strings.Contains(want+got, `"suggestions"`)
	})
	if status != wantStatus || got != want {
		t.Errorf("%s %s %v:\n%d %s\nwant\n%d %s", r.method, r.path, r.body, status, got, wantStatus, want)
	}
	return status, seen
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

// checkRefusals checks that operations without a way are refused with their name, and that a
// shard answers no part.
func (c *shardCluster) checkRefusals(t *testing.T) {
	for _, r := range []struct {
		s            *server
		method, path string
		want         string
	}{
		{c.front, http.MethodPost, "/api/replays/rollback", "POST /api/replays/rollback: not possible in this process: it is a front, and shards keep no previous version"},
		{c.shards[0], http.MethodPost, "/api/search", "send the request to a front"},
		{c.shards[0], http.MethodGet, "/api/source?repo=demo&path=first.txt", "send the request to a front"},
	} {
		status, got := send(t, r.s, r.method, r.path, map[string]any{"query": "here", "matches": 10})
		if message, _ := got["message"].(string); status != http.StatusNotImplemented || !strings.Contains(message, r.want) {
			t.Errorf("%s %s: %d %v, want 501 and %q", r.method, r.path, status, got, r.want)
		}
	}
}

// checkPosition pushes and searches the front from the position of the push on.
func (c *shardCluster) checkPosition(t *testing.T) {
	for i := range 3 {
		word := fmt.Sprintf("pandora%d", i)
		var accepted struct{ MinPosition string }
		must(t, json.Unmarshal([]byte(c.pushWord(word)), &accepted))
		if answer := c.front.searchFrom(t, word, accepted.MinPosition); answer.Stats.Files != 1 {
			t.Errorf("%s at %s: %+v", word, accepted.MinPosition, answer)
		}
	}
}

// checkPrivate makes two repositories private: from the answer to that on, no answer of the
// front shows them to a member, and all are those of the whole process. An owner sees them.
func (c *shardCluster) checkPrivate(t *testing.T) {
	createKey := func(user string) string {
		status, out := send(t, c.front, http.MethodPost, "/api/keys", map[string]any{"userId": user, "name": user, "scopes": []string{"search", "git"}})
		value, _ := out["key"].(string)
		if status != http.StatusCreated || value == "" {
			t.Fatalf("create a key of %s: %d %v", user, status, out)
		}
		return value
	}
	owner := createKey(c.front.createOwner(t))
	status, invitation := send(t, c.front, http.MethodPost, "/api/invitations", map[string]any{})
	if status != http.StatusCreated {
		t.Fatalf("invite: %d %v", status, invitation)
	}
	status, accepted := send(t, c.front, http.MethodPost, "/api/invitations/accept", map[string]any{
		"value": invitation["value"], "email": "bob@example.com", "password": "a long enough password",
	})
	user, _ := accepted["user"].(map[string]any)
	id, _ := user["id"].(string)
	if status/100 != 2 || id == "" {
		t.Fatalf("accept: %d %v", status, accepted)
	}
	member := createKey(id)
	names := []string{"other5", "other6"}
	for _, name := range names {
		path := fmt.Sprintf("/api/repos/%d", slices.Index(c.repositories, name)+1)
		if status, got := send(t, c.front, http.MethodPut, path+"/access", map[string]any{"visibility": "private"}); status != http.StatusOK {
			t.Fatalf("make %s private: %d %v", name, status, got)
		}
		// The front has the change, so that its shards have it, too.
		_, got := sendAs(t, c.front, member, http.MethodPost, "/api/search", map[string]any{"query": "Strum" + name, "matches": 10})
		if text := mustJSON(t, got); strings.Contains(text, `"`+name+`"`) {
			t.Errorf("a member finds the private %s: %s", name, text)
		}
		if !pollUntil(func() bool {
			status, _ := sendAs(t, c.whole, member, http.MethodGet, path+"/status", nil)
			return status == http.StatusNotFound
		}) {
			t.Fatalf("%s does not become private at the whole process", name)
		}
	}
	for _, query := range []string{"here", "func", "file:main.go", "type:repo other", "lang:go Strum", "sym:Strum", "Strumothr"} {
		status, text := c.compareAnswer(t, member, request{http.MethodPost, "/api/search", map[string]any{"query": query, "matches": 100, "facets": true}})
		if status != http.StatusOK || strings.Contains(text, names[0]) || strings.Contains(text, names[1]) {
			t.Errorf("%s shows a private repository to a member: %d %s", query, status, text)
		}
	}
	_, text := c.compareAnswer(t, member, request{http.MethodGet, "/api/find_files?query=main&limit=100", nil})
	if strings.Contains(text, names[0]) || strings.Contains(text, names[1]) {
		t.Errorf("the finder shows a private repository to a member: %s", text)
	}
	for _, name := range names {
		number := slices.Index(c.repositories, name) + 1
		requests := []request{
			{http.MethodGet, "/api/source?path=first.txt&repo=" + name, nil},
			{http.MethodGet, "/api/folder_contents?path=&revisionName=HEAD&repoName=" + name, nil},
			{http.MethodPost, "/api/tree", map[string]any{"repoName": name, "revisionName": "main", "paths": []string{""}}},
			{http.MethodPost, "/api/files", map[string]any{"repoName": name, "revisionName": "HEAD"}},
			{http.MethodGet, "/api/symbols?repo=" + name, nil},
			{http.MethodGet, fmt.Sprintf("/api/repos/%d/status", number), nil},
			{http.MethodGet, fmt.Sprintf("/api/repos/%d/skipped", number), nil},
		}
		if c.gitPeers[0] != "" {
			requests = append(requests,
				request{http.MethodGet, "/api/blame?path=first.txt&repo=" + name, nil},
				request{http.MethodGet, "/api/commits?repo=" + name, nil},
				request{http.MethodGet, "/api/diff?base=HEAD&head=HEAD&repo=" + name, nil},
			)
		}
		for _, r := range requests {
			if status, text := c.compareAnswer(t, member, r); status != http.StatusNotFound {
				t.Errorf("member: %s %s: %d %s, want 404", r.method, r.path, status, text)
			}
			if status, text := c.compareAnswer(t, owner, r); status != http.StatusOK {
				t.Errorf("owner: %s %s: %d %s, want 200", r.method, r.path, status, text)
			}
		}
		for _, r := range []request{
			{http.MethodPost, "/api/search", map[string]any{"query": "Strum" + name, "matches": 10, "facets": true}},
			{http.MethodPost, "/api/find_definitions", map[string]any{"symbolName": "Strum" + name, "language": "Go", "revisionName": "HEAD"}},
			{http.MethodGet, "/api/find_files?query=main&repo=" + name, nil},
		} {
			if _, text := c.compareAnswer(t, member, r); strings.Contains(text, `"`+name+`"`) {
				t.Errorf("member: %s %s %v: %s", r.method, r.path, r.body, text)
			}
			if _, text := c.compareAnswer(t, owner, r); !strings.Contains(text, `"`+name+`"`) {
				t.Errorf("owner: %s %s %v: %s", r.method, r.path, r.body, text)
			}
		}
	}
}

// searchDuring searches the front while a replica is lost, and until it is known to be lost and
// more searches are answered: each answer is complete, and that of the whole process.
func (c *shardCluster) searchDuring(t *testing.T, lose func()) {
	t.Helper()
	const atOnce, more = 2, 20
	body := map[string]any{"query": "here or plays", "matches": 100, "facets": true}
	_, answer := send(t, c.whole, http.MethodPost, "/api/search", body)
	if want := mustJSON(t, answer); !strings.Contains(want, `"isSearchExhaustive":true`) {
		t.Fatalf("the whole process is not complete: %s", want)
	}
	logged := len(c.front.output.String())
	var searches sync.WaitGroup
	var answered atomic.Int64
	done := make(chan struct{})
	for range atOnce {
		searches.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if status, _ := c.compareAnswer(t, "", request{http.MethodPost, "/api/search", body}); status != http.StatusOK {
					t.Errorf("status %d", status)
				}
				answered.Add(1)
			}
		})
	}
	lose()
	c.awaitLogged(t, logged, "shard is lost; trying again")
	before := answered.Load()
	if !pollUntil(func() bool { return answered.Load() >= before+more }) {
		t.Errorf("%d searches are answered after the loss", answered.Load()-before)
	}
	close(done)
	searches.Wait()
}

// awaitLogged waits until the front has logged a message after some output.
func (c *shardCluster) awaitLogged(t *testing.T, after int, message string) {
	t.Helper()
	if !pollUntil(func() bool { return strings.Contains(c.front.output.String()[after:], message) }) {
		t.Errorf("the front does not log %q", message)
	}
}

// checkLoss checks that a search without shard 1 is not exhaustive and names the reason, that
// a file of shard 0 is served and one of shard 1 is not, and that the front stays ready.
func (c *shardCluster) checkLoss(t *testing.T) {
	t.Helper()
	// On a busy machine, the shard that is left may be late as well, which is a 503.
	status, answer, err := 0, replicaAnswer{}, error(nil)
	pollUntil(func() bool {
		status, answer, err = c.front.search(map[string]any{"query": "here", "matches": 100}, nil)
		return status != http.StatusServiceUnavailable
	})
	if err != nil || status != http.StatusOK || answer.Exhaustive || answer.Reason != "lost partitions" || answer.Stats.Files == 0 {
		t.Errorf("search without a shard: %d %+v, %v", status, answer, err)
	}
	if _, answer, err := c.front.search(map[string]any{"query": "type:repo other", "matches": 100}, nil); err != nil || answer.Exhaustive {
		t.Errorf("repositories without a shard: %+v, %v", answer, err)
	}
	var found map[string]any
	pollUntil(func() bool {
		status, found = send(t, c.front, http.MethodGet, "/api/find_files?query=main", nil)
		return status != http.StatusServiceUnavailable
	})
	if status != http.StatusOK || found["isExhaustive"] != false {
		t.Errorf("finder without a shard: %d %v", status, found)
	}
	var statuses map[int]int
	pollUntil(func() bool {
		statuses = map[int]int{}
		for _, name := range c.repositories {
			status, _ := send(t, c.front, http.MethodGet, "/api/source?path=first.txt&repo="+name, nil)
			statuses[status]++
		}
		return statuses[http.StatusOK] > 0
	})
	if statuses[http.StatusOK] == 0 || statuses[http.StatusServiceUnavailable] == 0 || len(statuses) != 2 {
		t.Errorf("files without a shard, by status: %v", statuses)
	}
	if status := c.front.getStatus("/readyz"); status != http.StatusOK {
		t.Errorf("readiness without a shard: %d", status)
	}
}

// checkReturn waits until the front answers as before.
func (c *shardCluster) checkReturn(t *testing.T) {
	t.Helper()
	if !pollUntil(func() bool {
		_, answer, err := c.front.search(map[string]any{"query": "here", "matches": 100}, nil)
		return err == nil && answer.Exhaustive
	}) {
		t.Fatalf("the front does not become complete again:\n%s", c.front.output.String())
	}
}

// awaitReplicas waits until the front reaches a number of replicas of a share.
func (c *shardCluster) awaitReplicas(t *testing.T, share string, want float64) {
	t.Helper()
	if !pollUntil(func() bool {
		up, found := metricOf(c.front, "quarry_shards_replicas_up", `share="`+share+`"`)
		return found && up == want
	}) {
		t.Errorf("the front does not count %v replicas of %s", want, share)
	}
}

// checkAlerts checks the alerts of a lost share and of its replicas, once they are back.
func (c *shardCluster) checkAlerts(t *testing.T, rest, lost scrape) {
	t.Helper()
	c.awaitReplicas(t, "1/2", 2)
	promtool, err := exec.LookPath("promtool")
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		return // as TestAlertsOfRealFaults
	}
	must(t, err)
	rules, err := os.ReadFile("../../deploy/prometheus/rules.yml")
	must(t, err)
	e := &episode{before: []scrape{rest}, during: []scrape{lost}, after: []scrape{scrapeServer(c.front)}, alerts: []string{"QuarryShareLost", "QuarryReplicaLost"}}
	e.checkRules(t, promtool, string(rules))
}

// checkSettings starts processes with settings that do not agree with others.
func (c *shardCluster) checkSettings(t *testing.T) {
	start := func(name, want string, settings ...string) string {
		address, err := loopback.FreeAddress()
		must(t, err)
		args := []string{"--config", c.config, "--data", filepath.Join(c.dir, name), "--role", "query"}
		for _, setting := range slices.Concat(c.settings, settings) {
			args = append(args, "--set", setting)
		}
		s, err := launchServer(address, c.dir, c.environ(), args...)
		must(t, err)
		var reason string
		pollUntil(func() bool {
			if !s.hasExited() && s.getStatus("/healthz") == http.StatusOK {
				status, got := send(t, s, http.MethodPost, "/api/search", map[string]any{"query": "here", "matches": 10})
				reason = mustJSON(t, got)
				return status == http.StatusServiceUnavailable && strings.Contains(reason, "no shard answers") && strings.Contains(s.output.String(), want)
			}
			return s.hasExited()
		})
		s.killProcess()
		if strings.Contains(reason, c.peers[2]) {
			t.Errorf("%v: the answer names the address of a shard: %s", settings, reason)
		}
		return reason + s.output.String()
	}
	must(t, c.shards[0].stop())
	must(t, c.front.stop())
	other := filepath.Join(c.dir, "other.pem")
	writeTextFile(t, other, otherAuthority)
	for _, x := range []struct {
		name     string
		settings []string
		want     string
	}{
		{"new", []string{"shard.share=9/12", "shard.listen=" + c.peers[0]}, "has no partition"},
		{"new", []string{"shard.share=0/2"}, "share and listen are given together"},
		{"front", []string{"shard.peers=0/2@" + c.peers[0] + ",0-3@" + c.peers[1]}, "has 2 owners"},
		{"front", []string{"shard.peers=0/2@" + c.peers[0] + ",0/2@" + c.peers[1]}, "partition 1 has no owner"},
		{"front", []string{"shard.peers=0/4@" + c.peers[0] + ",1/4@" + c.peers[1]}, "has no owner"},
		{"front", []string{"shard.peers=" + c.peers[2]}, "make its shard.share and shard.peers agree"},
		{"front", []string{"peerTls.caFile=" + other, "shard.peers=" + c.peers[2] + "," + c.peers[0]}, "check peerTls.caFile"},
		{"front", []string{"peerTls.certFile=", "peerTls.keyFile=", "peerTls.clientCertificates=false", "shard.peers=" + c.peers[2] + "," + c.peers[0]}, "certificate required"},
		{"front", []string{"peerTls.caFile=", "peerTls.clientCertificates=false", "shard.peers=" + c.peers[2] + "," + c.peers[0]}, "set peerTls.caFile of the caller"},
		{"other", []string{"access.secret=" + strings.Repeat("x", 32), "shard.peers=" + c.peers[2] + "," + c.peers[0]}, "the peer has another secret"},
	} {
		if got := start(x.name, x.want, x.settings...); !strings.Contains(got, x.want) {
			t.Errorf("%s with %v: %s\nwant %q", x.name, x.settings, got, x.want)
		}
	}
}
