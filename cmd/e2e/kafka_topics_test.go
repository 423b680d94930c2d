package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// topicsOnKafka starts with an events topic that keeps records for an hour: quarry
// topics reports it, and quarry serve refuses to start with it unless the settings allow
// it.
func topicsOnKafka(t *testing.T, broker *kafkatest.Broker) {
	createBadTopic(t, broker)
	dir := t.TempDir()
	config := filepath.Join(dir, "quarry.yaml")
	writeTextFile(t, config, kafkaConfiguration(dir, map[string]any{"brokers": broker.Addresses}))

	out, code := runTopics(t, "describe", "--config", config)
	wantTexts(t, out, "quarry.events, kafka log", "retention.ms of quarry.events is 3600000, wanted is -1", "refused:",
		"kafka-configs.sh --bootstrap-server "+broker.Addresses[0], "quarry.deadletters does not exist")
	if code != 0 {
		t.Errorf("describe: exit code %d", code)
	}
	out, code = runTopics(t, "ensure", "--config", config)
	wantTexts(t, out, "quarry.deadletters, kafka log")
	if code != 1 {
		t.Errorf("ensure with a deviation: exit code %d, want 1", code)
	}
	wantRefusal(t, config, []string{"retention.ms", "log.kafka.allowDataLoss", "kafka-configs.sh"})

	s, err := startServer(dir, os.Environ(), "--config", config, "--data", filepath.Join(dir, "data"), "--set", "log.kafka.allowDataLoss=true")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}()
	wantTexts(t, s.output.String(), "level=WARN", "retention.ms of quarry.events")
}

// TestTopicsOfEmbeddedLog runs quarry topics without a broker.
func TestTopicsOfEmbeddedLog(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	if out, code := runTopics(t, "describe", "--data", data); code != 1 || !strings.Contains(out, "no embedded log") {
		t.Errorf("describe without a log: exit code %d\n%s", code, out)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("describe made a data directory")
	}
	for _, command := range []string{"ensure", "describe"} {
		out, code := runTopics(t, command, "--json", "--data", data, "--set", "log.partitions=2")
		if code != 0 {
			t.Errorf("%s: exit code %d\n%s", command, code, out)
		}
		var seen []string
		for line := range strings.Lines(out) {
			var report struct {
				Topic      string
				Driver     string
				Partitions []struct{ Partition, Next int }
			}
			if err := json.Unmarshal([]byte(line), &report); err != nil {
				t.Fatalf("%s: %v in %s", command, err, line)
			}
			seen = append(seen, fmt.Sprint(report.Topic, " ", report.Driver, " ", report.Partitions))
		}
		if got, want := strings.Join(seen, "; "), "quarry.events embedded [{0 0} {1 0}]; quarry.deadletters embedded [{0 0} {1 0}]; "+
			"quarry.accounts embedded [{0 0}]; quarry.audit embedded [{0 0}]"; got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

// createBadTopic creates an events topic whose records the broker deletes after an hour.
func createBadTopic(t *testing.T, broker *kafkatest.Broker) {
	t.Helper()
	log, err := kafkalog.Open(t.Context(), kafkalog.Options{Brokers: broker.Addresses})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	if err := log.EnsureTopics(t.Context(), kafkalog.TopicSpec{Topic: event.TopicEvents, Partitions: 2, Retention: time.Hour}); err != nil {
		t.Fatal(err)
	}
}

// runTopics runs quarry topics and returns its output and exit code.
func runTopics(t *testing.T, arguments ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "quarry", append([]string{"topics"}, arguments...)...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	t.Logf("quarry topics %s:\n%s", strings.Join(arguments, " "), out)
	return string(out), cmd.ProcessState.ExitCode()
}

func wantTexts(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
