package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/quarrysearch/quarry/projections/scip/sciptest"
)

// checkPreciseIndex uploads a precise index to the front, compares what it says with the whole
// process, and deletes it.
func (c *shardCluster) checkPreciseIndex(t *testing.T) {
	const name, symbol = "Strumother1", "scip-go gomod example.com/other v1 `other`/Strumother1()."
	index := sciptest.NewIndex("scip-go").Part(2, sciptest.NewDocument("main.go",
		sciptest.Message{}.Part(2, sciptest.NewOccurrence(symbol, 1, 3, 5, 16)), sciptest.Message{}.Part(2, sciptest.NewOccurrence(symbol, 0, 3, 21, 32))))
	file, front := filepath.Join(t.TempDir(), "index.scip"), &crashing{server: c.front}
	must(t, os.WriteFile(file, index, 0o644))
	front.runQuarry(t, "scip", "upload", "--repo", "other1", "--commit", commitOf(filepath.Join(c.dir, "other1"), "HEAD"), file)
	definitions := request{http.MethodPost, "/api/find_definitions", map[string]any{"symbolName": name, "position": map[string]any{
		"repoName": "other1", "revisionName": "main", "path": "main.go", "lineNumber": 4,
	}}}
	pollUntil(func() bool {
		_, answer := send(t, c.whole, definitions.method, definitions.path, definitions.body)
		return strings.Contains(mustJSON(t, answer), `"precise":true`)
	})
	if _, text := c.compareAnswer(t, "", definitions); !strings.Contains(text, `"precise":true`) {
		t.Errorf("the definitions are not precise: %s", text)
	}
	path := fmt.Sprintf("/api/repos/%d/scip", slices.Index(c.repositories, "other1")+1)
	_, listed := send(t, c.front, http.MethodGet, path, nil)
	uploads, _ := listed["uploads"].([]any)
	if len(uploads) != 1 {
		t.Fatalf("uploads: %v, want one", listed)
	}
	id, _ := uploads[0].(map[string]any)["id"].(string)
	if status, got := send(t, c.front, http.MethodDelete, path+"/"+id, nil); status != http.StatusNoContent {
		t.Errorf("delete the upload: %d %v", status, got)
	}
	if status, got := send(t, c.shards[0], http.MethodPost, path, nil); status != http.StatusNotImplemented {
		t.Errorf("an upload to a shard: %d %v, want 501", status, got)
	}
}

// checkSnapshots has the front create snapshots: a shard of each share creates one, which the front
// lists and deletes. The shards also create some at an interval, and refuse meanwhile.
func (c *shardCluster) checkSnapshots(t *testing.T) {
	var out []byte
	if !pollUntil(func() bool {
		var err error
		out, err = exec.Command("quarry", "snapshots", "create", "--server", c.front.url, "--data", c.front.data).CombinedOutput()
		return err == nil
	}) {
		t.Fatalf("quarry snapshots create: %s", out)
	}
	status, listed := send(t, c.front, http.MethodGet, "/api/snapshots", nil)
	all, _ := listed["snapshots"].([]any)
	creators := map[string]string{}
	for _, one := range all {
		fields, _ := one.(map[string]any)
		name, _ := fields["name"].(string)
		creator, _ := fields["creator"].(string)
		if strings.Contains(string(out), name+": ") {
			_, share, _ := strings.Cut(creator, ", share ")
			creators[share] = name
		}
	}
	if status != http.StatusOK || creators["0/2"] == "" || creators["1/2"] == "" {
		t.Fatalf("%d, snapshots of the shares %v, want both:\n%s\n%v", status, creators, out, listed)
	}
	path := "/api/snapshots/" + creators["0/2"]
	if status, got := send(t, c.front, http.MethodDelete, path, nil); status != http.StatusNoContent {
		t.Errorf("DELETE %s: %d %v", path, status, got)
	}
	if status, _ := send(t, c.shards[0], http.MethodPost, "/api/snapshots", nil); status != http.StatusNotImplemented {
		t.Errorf("a snapshot of a shard by its API: %d, want 501", status)
	}
}

// checkReplay replays the log at the front and at all shards: the front answers meanwhile, and from
// the new indexes.
func (c *shardCluster) checkReplay(t *testing.T) {
	search := request{http.MethodPost, "/api/search", map[string]any{"query": "here or plays", "matches": 100, "facets": true}}
	done := make(chan struct{})
	var searches sync.WaitGroup
	searches.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				c.compareAnswer(t, "", search)
			}
		}
	})
	out := (&crashing{server: c.front}).runQuarry(t, "replay")
	close(done)
	searches.Wait()
	if !strings.Contains(out, "rebuilt from the log") || strings.Count(out, ": done") != len(c.shards) || strings.Contains(out, "not replayed") {
		t.Errorf("quarry replay: %s", out)
	}
	c.compareAnswer(t, "", search)
	for _, s := range append([]*server{c.front}, c.shards...) {
		_, listed := send(t, s, http.MethodGet, "/api/replays", nil)
		if text := mustJSON(t, listed); !strings.Contains(text, `"state":"done"`) || strings.Contains(text, `"previous"`) {
			t.Errorf("replays of %s: %s", s.url, text)
		}
	}
}

// checkVerification compares the rows of all shards with git through the front, and a repository
// alone, also while a replica is frozen.
func (c *shardCluster) checkVerification(t *testing.T) {
	verify := func(repositories ...string) (string, error) {
		args := append([]string{"verify", "--server", c.front.url, "--data", c.front.data}, repositories...)
		out, err := exec.Command(c.program, args...).Output()
		return string(out), err
	}
	out, err := verify()
	var compared [3]int
	for i, share := range c.shares {
		_, after, _ := strings.Cut(out, "shard "+share+"@"+c.peers[i]+": ")
		_, _ = fmt.Sscan(after, &compared[i]) // 0 is an error below
	}
	if err != nil || compared[0]+compared[1] != len(c.repositories) || compared[1] != compared[2] || strings.Count(out, "no difference\n") != len(c.shards)+1 {
		t.Errorf("quarry verify: %v, %d repositories, want all %d and no difference:\n%s", err, compared, len(c.repositories), out)
	}
	if out, err = verify("other1"); err != nil || !strings.Contains(out, ": 1 repositories, 1 refs") {
		t.Errorf("quarry verify other1: %v\n%s", err, out)
	}
	if _, whole := send(t, c.whole, http.MethodPost, "/api/verifications", map[string]any{}); !strings.Contains(fmt.Sprint(whole), `"differences":0`) {
		t.Errorf("a query node without mirrors: %v", whole)
	}
	logged := len(c.front.output.String())
	freeze(t, c.shards[1])
	c.awaitLogged(t, logged, "shard is lost")
	if out, err = verify(); err == nil || !strings.Contains(out, "shard 1/2@"+c.peers[1]+": not compared: ") || !strings.Contains(out, "; 1 could not be compared") {
		t.Errorf("quarry verify while a replica is frozen: %v\n%s", err, out)
	}
	logged = len(c.front.output.String())
	must(t, c.shards[1].cmd.Process.Signal(syscall.SIGCONT))
	c.awaitLogged(t, logged, "shard is reached")
}

// checkErasure erases a repository at the front, which is done once its shards, and the process that
// rewrites the segments, have nothing of it.
func (c *shardCluster) checkErasure(t *testing.T) {
	c.addRepository("victim")
	number := len(c.repositories)
	c.repositories = c.repositories[:number-1]
	if !pollUntil(func() bool {
		_, answer, err := c.front.search(map[string]any{"query": "Strumvictim", "matches": 10}, nil)
		return err == nil && answer.Stats.Files > 0
	}) {
		t.Fatal("the front does not find the repository")
	}
	tree := filepath.Join(c.dir, "victim")
	status, got := send(t, c.front, http.MethodPost, fmt.Sprintf("/api/repos/%d/erase", number), map[string]any{"commit": commitOf(tree, "HEAD")})
	if message, _ := got["message"].(string); status != http.StatusConflict || !strings.Contains(message, "a branch or tag leads to commit") {
		t.Errorf("erase a commit of a branch: %d %v, want 409", status, got)
	}
	if status, got = send(t, c.shards[0], http.MethodPost, fmt.Sprintf("/api/repos/%d/erase", number), map[string]any{}); status != http.StatusNotImplemented {
		t.Errorf("erase at a shard: %d %v, want 501", status, got)
	}
	out := (&crashing{server: c.front}).runQuarry(t, "erase", "victim", "--yes", "--json", "--wait", "3m")
	if !strings.Contains(out, `"state":"done"`) || !strings.Contains(out, `"unnamedSegments":0`) || strings.Contains(out, "problem") || strings.Count(out, `"share"`) == 0 {
		t.Errorf("quarry erase: %s", out)
	}
	for _, s := range append([]*server{c.front, c.whole}, c.shards...) {
		if _, listed := send(t, s, http.MethodGet, "/api/erasures", nil); s == c.front && !strings.Contains(mustJSON(t, listed), `"state":"done"`) {
			t.Errorf("erasures of the front: %v", listed)
		}
	}
	_, audited := send(t, c.front, http.MethodGet, "/api/ee/audit?action=repo.erased", nil)
	if !strings.Contains(mustJSON(t, audited), "repo.erased") {
		t.Errorf("the audit log has no erasure: %v", audited)
	}
}

// checkDoctor examines the front with its own settings, and with others than its shards have.
func (c *shardCluster) checkDoctor(t *testing.T) {
	const finding = "no shard that answers has the settings of this front"
	for setting, want := range map[string]bool{"": false, "access.defaultVisibility=private": true} {
		more := []string{}
		if setting != "" {
			more = []string{"--set", setting}
		}
		command := exec.Command(c.program, slices.Concat([]string{"doctor"}, c.frontSettings(), more, []string{"--server", c.front.url})...)
		command.Env = c.environ()
		out, _ := command.CombinedOutput() // it finds problems that belong to this machine
		if strings.Contains(string(out), finding) != want || !strings.Contains(string(out), "the share 0/2") {
			t.Errorf("doctor with %q, want %v that it says %q:\n%s", setting, want, finding, out)
		}
	}
}

// frontSettings returns the flags of the front for commands that read its settings.
func (c *shardCluster) frontSettings() []string {
	args := slices.Clone(c.front.cmd.Args[slices.Index(c.front.cmd.Args, "--config"):])
	role := slices.Index(args, "--role")
	return append(slices.Delete(args, role, role+2), "--set", "roles=query")
}

// checkBackup makes a backup with the front, which holds back what other processes delete.
func (c *shardCluster) checkBackup(t *testing.T) {
	to := filepath.Join(t.TempDir(), "backup")
	command := exec.Command(c.program, slices.Concat([]string{"backup", to}, c.frontSettings(), []string{"--server", c.front.url})...)
	command.Env = c.environ()
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("quarry backup: %v\n%s", err, out)
	}
	if !strings.Contains(c.front.output.String(), "backup started") {
		t.Error("the front has not held the segment store")
	}
	if out, err := exec.Command(c.program, "restore", to, "--verify").CombinedOutput(); err != nil {
		t.Errorf("quarry restore --verify: %v\n%s", err, out)
	}
}
