package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/loopback"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
)

// replicas are the processes of a deployment with two query nodes: every one has one role,
// and they share only a broker and the segment store.
type replicas struct {
	*crashing
	program          string // of the processes that start next
	broker           *kafkatest.Broker
	settings         []string
	ingest, pipeline *server
	queries          [2]*server
}

// startReplicas starts the processes with settings, such as "query.maxLag=2s", and indexes a
// repository with one file.
func startReplicas(t *testing.T, broker *kafkatest.Broker, settings ...string) *replicas {
	t.Helper()
	return startReplicasOf(t, "quarry", broker, settings...)
}

// startReplicasOf is startReplicas with the program that the processes run.
func startReplicasOf(t *testing.T, program string, broker *kafkatest.Broker, settings ...string) *replicas {
	t.Helper()
	dir := t.TempDir()
	r := &replicas{program: program, broker: broker, crashing: &crashing{t: t, dir: dir, config: filepath.Join(dir, "quarry.yaml"), tree: filepath.Join(dir, "demo")}}
	r.settings = append([]string{"storage.segments=" + filepath.Join(dir, "segments"), "query.maxLag=2s", "access.secret=" + strings.Repeat("s", 32)}, settings...)
	writeTextFile(t, r.config, kafkaConfiguration(dir, map[string]any{"brokers": broker.Addresses}))
	must(t, runGit("", "init", "-q", "-b", "main", r.tree))
	r.commitFile("first", "here is a theorbo")
	r.pipeline, r.ingest = r.startNode("pipeline", "pipeline"), r.startNode("ingest", "ingest")
	r.queries = [2]*server{r.startNode("query-0", "query"), r.startNode("query-1", "query")}
	r.server = r.queries[0]
	r.indexTree()
	for _, r.server = range r.queries {
		r.awaitWord("theorbo")
	}
	return r
}

// startNode starts a process with one role, whose data directory has a name. It ends with
// the test, unless the test kills it before.
func (r *replicas) startNode(name, role string) *server {
	r.t.Helper()
	args := []string{"--config", r.config, "--data", filepath.Join(r.dir, name), "--role", role}
	for _, setting := range r.settings {
		args = append(args, "--set", setting)
	}
	address, err := loopback.FreeAddress()
	must(r.t, err)
	s, err := startProgram([]string{r.program}, address, r.dir, r.environ(), args...)
	if err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	r.t.Cleanup(func() {
		if s.hasExited() && s.cmd.ProcessState.String() == "signal: killed" {
			return
		}
		_ = s.cmd.Process.Signal(syscall.SIGCONT) // a stopped process does not end
		if err := s.stop(); err != nil {
			r.t.Errorf("%s: %v", name, err)
		}
	})
	return s
}

// pushWord commits and pushes a file with a word, and returns the response to the webhook.
func (r *replicas) pushWord(word string) string {
	r.t.Helper()
	r.commitFile(word, "here is a "+word)
	status, answer, err := deliverPush(r.ingest.url, "msg_"+word, push{Repository: r.tree, Ref: "refs/heads/main", After: commitOf(r.tree, "HEAD")})
	if err != nil || status != http.StatusAccepted {
		r.t.Fatalf("push: %d %s, %v", status, answer, err)
	}
	return answer
}

// replicaAnswer is the part of a response to a search that the tests read.
type replicaAnswer struct {
	Stats struct {
		Files int `json:"fileCount"`
	} `json:"stats"`
	Exhaustive bool   `json:"isSearchExhaustive"`
	Reason     string `json:"incompleteReason"`
	Position   string `json:"position"`
	ErrorCode  string `json:"errorCode"`
	Message    string `json:"message"`
}

// search sends a search request. It calls sent, if that is not nil, once the request is
// written.
func (s *server) search(request map[string]any, sent func()) (status int, answer replicaAnswer, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return 0, answer, err
	}
	in, err := http.NewRequest(http.MethodPost, s.url+"/api/search", bytes.NewReader(body))
	if err != nil {
		return 0, answer, err
	}
	in.Header.Set("Content-Type", "application/json")
	if sent != nil {
		in = in.WithContext(httptrace.WithClientTrace(in.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent() }}))
	}
	response, err := clientOf(strings.TrimPrefix(s.url, "http://")).Do(in)
	if err != nil {
		return 0, answer, err
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	return response.StatusCode, answer, err
}

// searchFrom searches for a word from a position on. It repeats a search that found the node
// too busy, or that it could not answer in time.
func (s *server) searchFrom(t *testing.T, word, minPosition string) (answer replicaAnswer) {
	t.Helper()
	var status int
	var err error
	if !pollUntil(func() bool {
		status, answer, err = s.search(map[string]any{"query": word, "matches": 10, "minPosition": minPosition}, nil)
		return err != nil || status != http.StatusServiceUnavailable
	}) || err != nil || status != http.StatusOK {
		t.Fatalf("%s at %s: %d %+v, %v", word, minPosition, status, answer, err)
	}
	return answer
}

// frozenReplica stops a query node with SIGSTOP for longer than query.maxLag while
// pushes go on. Searches that wait for it when it continues, and those after them, never
// lack matches and claim to be exhaustive. The broker is down at first, so that the node
// cannot catch up before it answers.
func frozenReplica(t *testing.T, broker *kafkatest.Broker) {
	r := startReplicas(t, broker)
	frozen := r.queries[1]
	r.server = r.queries[0]
	freeze(t, frozen)
	thawAt := time.Now().Add(3 * time.Second)
	const words, clients = 10, 4
	for i := range words {
		word := fmt.Sprintf("cittern%d", i)
		r.pushWord(word)
		r.awaitWord(word)
	}
	pollUntil(func() bool { return time.Now().After(thawAt) })

	// Each search looks for all words, and is sent before the process continues.
	ask := func(sent func()) (current bool, err error) {
		status, answer, err := frozen.search(map[string]any{"query": "here cittern", "matches": 1000}, sent)
		switch {
		case err != nil || status != http.StatusOK:
			return false, fmt.Errorf("search: %d, %w", status, err)
		case answer.Exhaustive && answer.Stats.Files < words:
			return false, fmt.Errorf("found %d of %d files and claims to be exhaustive", answer.Stats.Files, words)
		case !answer.Exhaustive && answer.Reason != "behind the log":
			return false, fmt.Errorf("incomplete because of %q", answer.Reason)
		}
		return answer.Exhaustive, nil
	}
	var sent, done sync.WaitGroup
	sent.Add(clients)
	for range clients {
		done.Go(func() {
			if _, err := ask(sent.Done); err != nil {
				t.Error(err)
			}
		})
	}
	sent.Wait()
	r.broker.Kill()
	must(t, frozen.cmd.Process.Signal(syscall.SIGCONT))
	done.Wait()
	r.broker.Restart()
	var err error
	if !pollUntil(func() (current bool) { current, err = ask(nil); return current || err != nil }) || err != nil {
		t.Fatalf("after SIGCONT: %v", err)
	}
}

// readYourWrites searches both query nodes for each push at once, with the
// position from the response to its webhook: no answer lacks the push. The position of an
// answer of one node holds at the other. A position that is not there is refused.
func readYourWrites(t *testing.T, broker *kafkatest.Broker) {
	r := startReplicas(t, broker)
	for i := range 5 {
		word := fmt.Sprintf("bandora%d", i)
		var accepted struct{ MinPosition string }
		must(t, json.Unmarshal([]byte(r.pushWord(word)), &accepted))
		first := r.queries[i%2].searchFrom(t, word, accepted.MinPosition)
		second := r.queries[(i+1)%2].searchFrom(t, word, first.Position)
		if first.Stats.Files != 1 || second.Stats.Files != 1 {
			t.Errorf("%s at %s: %+v, and then at %s: %+v", word, accepted.MinPosition, first, first.Position, second)
		}
	}
	status, answer, err := r.queries[0].search(map[string]any{"query": "bandora", "matches": 10, "minPosition": "0:1000000"}, nil)
	if err != nil || status != http.StatusServiceUnavailable || answer.ErrorCode != "POSITION_NOT_REACHED" || !strings.Contains(answer.Message, "0:1000000") {
		t.Errorf("a position that is not there: %d %+v, %v", status, answer, err)
	}
}

// freeze stops a process with SIGSTOP, and waits until all of its threads have stopped, which
// takes a while on a busy machine.
func freeze(t *testing.T, s *server) {
	t.Helper()
	must(t, s.cmd.Process.Signal(syscall.SIGSTOP))
	if !pollUntil(func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.cmd.Process.Pid))
		must(t, err)
		return !slices.ContainsFunc(threads, func(path string) bool {
			stat, err := os.ReadFile(path)
			return err == nil && !strings.Contains(string(stat), ") T ")
		})
	}) {
		t.Fatal("the process does not stop")
	}
}
