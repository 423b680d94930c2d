package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
)

// TestScriptsOnKafka runs the scripts that hold on any log, each on a broker of
// its own: the topics have fixed names.
func TestScriptsOnKafka(t *testing.T) {
	for _, script := range []string{"first_light", "branches"} {
		t.Run(script, func(t *testing.T) {
			broker := kafkatest.Start(t)
			t.Logf("the event log of this script is a real Kafka broker at %s", broker.Addresses)
			runScripts(t, []string{"testdata/" + script + ".txtar"}, map[string]string{
				"QUARRY_LOG_DRIVER":        "kafka",
				"QUARRY_LOG_KAFKA_BROKERS": strings.Join(broker.Addresses, ","),
			})
		})
	}
}

// TestRolesOnKafka runs each role as a process of its own. They share the
// brokers and the segment store, and nothing else.
func TestRolesOnKafka(t *testing.T) {
	broker := kafkatest.Start(t)
	dir := t.TempDir()
	c := &crashing{t: t, dir: dir, config: filepath.Join(dir, "quarry.yaml"), tree: filepath.Join(dir, "demo")}
	if err := os.WriteFile(c.config, []byte(configuration(dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := git("", "init", "-q", "-b", "main", c.tree); err != nil {
		t.Fatal(err)
	}
	c.commit("first", "here is a theorbo")

	servers := map[string]*server{}
	for _, role := range []string{"query", "pipeline", "ingest"} {
		s, err := startServer(dir, os.Environ(), "--config", c.config, "--data", filepath.Join(dir, role), "--role", role,
			"--set", "log.driver=kafka", "--set", "log.kafka.brokers="+strings.Join(broker.Addresses, ","),
			"--set", "storage.segments="+filepath.Join(dir, "segments"))
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
	c.index()
	c.await("theorbo")

	c.commit("second", "here is a cittern")
	status, answer, err := deliver(servers["ingest"].url, "msg_roles", push{Repository: c.tree, Ref: "refs/heads/main", After: commitOf(c.tree, "HEAD")})
	if err != nil || status != http.StatusAccepted {
		t.Fatalf("push: %d %s, %v", status, answer, err)
	}
	c.await("cittern")
}
