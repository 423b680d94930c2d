package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
)

// brokerTest is a test that needs one broker without topics.
type brokerTest struct {
	name string
	run  func(*testing.T, *kafkatest.Broker)
}

// runOnOneBroker runs tests one after another on one broker. Every start of a broker takes
// four seconds of CPU time until its code is warm.
func runOnOneBroker(t *testing.T, tests []brokerTest) {
	broker := kafkatest.Start(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, broker) })
		broker.Clear()
	}
}

// TestScriptsOnKafka runs the scripts that work on any log, and tests of single settings.
func TestScriptsOnKafka(t *testing.T) {
	t.Parallel()
	tests := []brokerTest{{"topics", topicsOnKafka}, {"keys", keysOfTwoProcesses}, {"shared segments", sharedSegmentsHeal}, {"copy", embeddedLogMovesToKafka}, {"copy between clusters", clusterMovesToCluster}}
	for _, script := range []string{"first_light", "branches", "replay", "deliveries", "deadletters", "backup", "erase"} {
		tests = append(tests, brokerTest{script, func(t *testing.T, broker *kafkatest.Broker) {
			t.Logf("the event log of this script is a real Kafka broker at %s", broker.Addresses)
			testscript.RunT(oneScript{t}, scriptParams(t, []string{"testdata/" + script + ".txtar"}, map[string]string{
				"QUARRY_LOG_DRIVER":        "kafka",
				"QUARRY_LOG_KAFKA_BROKERS": strings.Join(broker.Addresses, ","),
			}))
		}})
	}
	runOnOneBroker(t, tests)
}

// TestReplicasOnKafka runs two query nodes and a process for each other role.
func TestReplicasOnKafka(t *testing.T) {
	t.Parallel()
	runOnOneBroker(t, []brokerTest{
		{"frozen replica", frozenReplica},
		{"read your writes", readYourWrites},
		{"shards and a front", shardsAndFront},
		{"replica that returns", replicaThatReturns},
		{"snapshots in a bucket", snapshotsInABucket},
		{"snapshot while the bucket refuses", snapshotWhileTheBucketRefuses},
	})
}

// TestRolesOnKafka runs each role as a separate process, on three brokers. The processes
// share only the brokers and the segment store. Then two brokers are killed and
// restarted.
func TestRolesOnKafka(t *testing.T) {
	t.Parallel()
	brokers := kafkatest.StartCluster(t, 3)
	dir := t.TempDir()
	c := &crashing{t: t, dir: dir, config: filepath.Join(dir, "quarry.yaml"), tree: filepath.Join(dir, "demo")}
	writeTextFile(t, c.config, kafkaConfiguration(dir, map[string]any{"brokers": brokers.Addresses, "replicationFactor": 3}))
	if err := runGit("", "init", "-q", "-b", "main", c.tree); err != nil {
		t.Fatal(err)
	}
	c.commitFile("first", "here is a theorbo")

	servers := map[string]*server{}
	for _, role := range []string{"query", "pipeline", "ingest"} {
		s, err := startServer(dir, os.Environ(), "--config", c.config, "--data", filepath.Join(dir, role), "--role", role,
			"--set", "storage.segments="+filepath.Join(dir, "segments"), "--set", "logging.format=json")
		if err != nil {
			t.Fatalf("%s: %v", role, err)
		}
		servers[role] = s
		t.Cleanup(func() {
			if err := s.stop(); err != nil {
				t.Errorf("%s: %v", role, err)
			}
		})
	}
	c.server = servers["query"]
	c.indexTree()
	c.awaitWord("theorbo")

	c.commitFile("second", "here is a cittern")
	began := time.Now()
	status, answer, err := deliverPush(servers["ingest"].url, "msg_roles", push{Repository: c.tree, Ref: "refs/heads/main", After: commitOf(c.tree, "HEAD")})
	if err != nil || status != http.StatusAccepted {
		t.Fatalf("push: %d %s, %v", status, answer, err)
	}
	c.awaitWord("cittern")
	followPush(t, "msg_roles", commitOf(c.tree, "HEAD"), began, servers["ingest"], servers["pipeline"], servers["query"])
	eraseByRole(t, c, servers["query"], filepath.Join(dir, "pipeline", "mirrors"))
	if testing.Short() {
		return
	}
	checkWithoutBrokers(t, brokers, c, servers["ingest"])
}

// eraseByRole erases a second repository. The process with the projections has no mirrors
// and reports that it checked none; the worker has removed the text from its own.
func eraseByRole(t *testing.T, c *crashing, query *server, mirrors string) {
	t.Helper()
	count := func() int {
		found, err := filepath.Glob(filepath.Join(mirrors, "[0-9a-f][0-9a-f]", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	other := &crashing{t: t, dir: c.dir, tree: filepath.Join(c.dir, "other"), server: query}
	if err := runGit("", "init", "-q", "-b", "main", other.tree); err != nil {
		t.Fatal(err)
	}
	other.commitFile("first", "here is a bandora")
	if out, err := exec.Command("quarry", "index", "--server", query.url, "--data", query.data, "--name", "other", other.tree).CombinedOutput(); err != nil {
		t.Fatalf("quarry index: %v\n%s", err, out)
	}
	other.awaitWord("bandora")
	if n := count(); n != 2 {
		t.Fatalf("%d mirrors before the erasure, want 2", n)
	}
	out, err := exec.Command("quarry", "erase", "other", "--yes", "--json", "--server", query.url, "--data", query.data).Output()
	if err != nil || !bytes.Contains(out, []byte(`"state":"done"`)) || !bytes.Contains(out, []byte(`"mirrorChecked":false`)) {
		t.Errorf("quarry erase: %v\n%s", err, out)
	}
	if n := count(); n != 1 {
		t.Errorf("%d mirrors after the erasure, want 1", n)
	}
	c.awaitWord("cittern")
}

// checkWithoutBrokers kills two of three brokers. A push gets a retryable error, because the
// receiver bounds its wait for the log, and searches still work. When the brokers are back,
// the push is accepted and found.
func checkWithoutBrokers(t *testing.T, brokers *kafkatest.Cluster, c *crashing, ingest *server) {
	const id = "msg_away"
	c.commitFile("third", "here is a sackbut")
	body, err := json.Marshal(push{Repository: c.tree, Ref: "refs/heads/main", After: commitOf(c.tree, "HEAD")})
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: hangDeadline}
	deliver := func() *http.Response {
		request, err := http.NewRequest(http.MethodPost, ingest.url+hookPath, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = signedHeader(id, body)
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response
	}
	brokers.Kill(0, 1)
	response := deliver()
	if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" {
		t.Errorf("push with two of three brokers away: %s with Retry-After %q, want 503", response.Status, response.Header.Get("Retry-After"))
	}
	var line map[string]any
	pollUntil(func() bool { line = linesOf(t, id, ingest)["delivery not accepted"]; return line != nil })
	if reason := fmt.Sprint(line["error"]); line["result"] != "unavailable" || !strings.Contains(reason, "append 1 events of delivery "+id) || !strings.Contains(reason, context.DeadlineExceeded.Error()) {
		t.Errorf("the refusal is logged as %v, want an append that has exceeded the deadline of the receiver", line)
	}
	if n, err := countMatches(c.server.url, "cittern"); err != nil || n != 1 {
		t.Errorf("search meanwhile: %d matches, %v", n, err)
	}
	brokers.Restart(0, 1)
	if !pollUntil(func() bool { return deliver().StatusCode < 300 }) {
		t.Fatal("the push is not taken after the brokers are back")
	}
	c.awaitWord("sackbut")
}
