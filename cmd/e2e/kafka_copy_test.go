package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
	"github.com/quarrysearch/quarry/projections/segmentstore/s3test"
	"github.com/quarrysearch/quarry/schemas/event"
)

// embeddedLogMovesToKafka copies the log of a server with an account, a key, an indexed
// repository and a trimmed audit log to a broker, with kills. A server continues there
// with the same data directory, and applies and indexes nothing again. Then the log is
// copied back.
func embeddedLogMovesToKafka(t *testing.T, broker *kafkatest.Broker) {
	c := newCrashing(t)
	moveClock := c.useClock()
	c.args = []string{"--set", "audit.sealEvery=1s", "--set", "log.partitions=3"}
	c.startServer()
	_, key := c.server.createKey(t, c.server.createOwner(t), "kept")
	c.indexTree()
	c.awaitWord("vuvuzela")
	for range 2 {
		before, _ := metricOf(c.server, "quarry_audit_sealed_timestamp_seconds", "")
		if status := c.server.statusWithKey(t, key); status != http.StatusOK {
			t.Fatalf("a new key: %d", status)
		}
		if !pollUntil(func() bool {
			at, _ := metricOf(c.server, "quarry_audit_sealed_timestamp_seconds", "")
			return at > before
		}) {
			t.Fatal("the audit log is not sealed")
		}
	}
	must(t, c.server.stop())
	trimAuditLog(t, filepath.Join(c.data, "log"))
	// Rows of entries that are no longer kept are deleted before the log is trimmed.
	must(t, os.RemoveAll(filepath.Join(c.data, "accounts")))
	moveClock(200 * 24 * time.Hour) // more than the retention of entries
	c.startServer()
	c.verifyAudit()
	must(t, c.server.stop())

	embedded, kafka := c.config, filepath.Join(c.dir, "kafka.yaml")
	writeTextFile(t, kafka, kafkaConfiguration(c.dir, map[string]any{"brokers": broker.Addresses}))
	arguments := []string{"copy", "--config", c.config, "--data", c.data, "--to", kafka}
	if out, code := runTopics(t, append(arguments, "--dry-run")...); code != 0 || !strings.Contains(out, "TO COPY") {
		t.Errorf("dry run: exit code %d", code)
	}
	kills := 0
	for life := 40 * time.Millisecond; killAfter(t, exec.Command("quarry", append([]string{"topics"}, arguments...)...), life, func() {}); life += life / 2 {
		kills++
	}
	t.Logf("killed %d times", kills)
	if kills == 0 {
		t.Error("no copy was killed")
	}
	out, code := runTopics(t, arguments...)
	wantTexts(t, out, "The logs are equal", "mv "+filepath.Join(c.data, "log"), "set log.driver to kafka")
	if code != 0 {
		t.Fatalf("copy: exit code %d", code)
	}

	c.config, c.args = kafka, []string{"--set", "audit.sealEvery=1s"}
	c.startServer()
	if n, err := countMatches(c.server.url, "vuvuzela"); err != nil || n != 1 {
		t.Errorf("search at once after the start: %d matches, %v", n, err)
	}
	if status := c.server.statusWithKey(t, key); status != http.StatusOK {
		t.Errorf("the key of before: %d", status)
	}
	if n, _ := metricOf(c.server, "quarry_projections_records_total", ""); n != 0 {
		t.Errorf("%v records were applied again", n)
	}
	c.verifyAudit()
	moveClock(0) // deliveries are signed with the time of this machine
	c.commitFile("moved", "pushed to the brokers: zither")
	if status, answer, err := deliverPush(c.server.url, "msg_moved", push{Repository: c.tree, Ref: "refs/heads/main"}); err != nil || status != http.StatusAccepted {
		t.Fatalf("push: %d %s: %v", status, answer, err)
	}
	c.awaitWord("zither")
	if n, _ := metricOf(c.server, "quarry_indexer_revisions_total", ""); n != 1 {
		t.Errorf("%v revisions were indexed, want only that of the new push", n)
	}
	if n, _ := metricOf(c.server, "quarry_indexer_documents_total", ""); n != 1 {
		t.Errorf("%v documents were added, want only that of the new push", n)
	}
	if out, err := exec.Command("quarry", "verify", "--server", c.server.url, "--data", c.data).CombinedOutput(); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
	must(t, c.server.stop())
	if out, err := exec.Command("quarry", "replay", "--verify", "--config", kafka, "--data", c.data).CombinedOutput(); err != nil {
		t.Errorf("replay --verify: %v\n%s", err, out)
	}
	if out, code := runTopics(t, arguments...); code != 1 || !strings.Contains(out, "a server has used the target") {
		t.Errorf("a copy to a log that was used: exit code %d, want 1\n%s", code, out)
	}

	same := filepath.Join(c.dir, "same.yaml")
	other := strings.Replace(broker.Addresses[0], "127.0.0.1", "localhost", 1)
	writeTextFile(t, same, kafkaConfiguration(c.dir, map[string]any{"brokers": []string{other}}))
	out, code = runTopics(t, "copy", "--config", kafka, "--to", same)
	if code != 1 || !strings.Contains(out, "both configurations name the same log") {
		t.Errorf("a copy of a log to itself, with other addresses: exit code %d, want 1\n%s", code, out)
	}

	// The old log is a prefix of the new one, so the way back adds what is new.
	back := filepath.Join(c.dir, "back.yaml")
	writeTextFile(t, back, fmt.Sprintf(`{"data": %q}`, c.data))
	if _, code := runTopics(t, "copy", "--config", kafka, "--to", back); code != 0 {
		t.Fatalf("copy back: exit code %d", code)
	}
	c.config = embedded
	c.startServer()
	if n, err := countMatches(c.server.url, "zither"); err != nil || n != 1 {
		t.Errorf("search after the way back: %d matches, %v", n, err)
	}
	must(t, c.server.stop())
	broker.Clear()
	c.moveToFourPartitions(kafka, key, moveClock)
}

// clusterMovesToCluster copies the log of a server with its segments in a bucket to the brokers of
// another cluster, and moves it to four partitions on those of before.
func clusterMovesToCluster(t *testing.T, broker *kafkatest.Broker) {
	other, s3 := kafkatest.Start(t), s3test.Start(t)
	c := newCrashing(t)
	moveClock := c.useClock()
	before, after := filepath.Join(c.dir, "before.yaml"), filepath.Join(c.dir, "after.yaml")
	writeTextFile(t, before, withBucket(kafkaConfiguration(c.dir, map[string]any{"brokers": broker.Addresses}), s3, "segments"))
	writeTextFile(t, after, withBucket(kafkaConfiguration(c.dir, map[string]any{"brokers": other.Addresses}), s3, "segments"))
	c.config, c.args = before, []string{"--set", "log.partitions=3"}
	c.startServer()
	_, key := c.server.createKey(t, c.server.createOwner(t), "kept")
	c.indexTree()
	c.awaitWord("vuvuzela")
	c.commitFile("second", "in a segment in a bucket: zither")
	if status, answer, err := deliverPush(c.server.url, "msg_second", push{Repository: c.tree, Ref: "refs/heads/main"}); err != nil || status != http.StatusAccepted {
		t.Fatalf("push: %d %s: %v", status, answer, err)
	}
	c.awaitWord("zither")
	must(t, c.server.stop())

	for _, dry := range [][]string{{"--dry-run"}, nil} {
		if out, code := runTopics(t, append([]string{"copy", "--config", before, "--to", after}, dry...)...); code != 0 {
			t.Fatalf("copy %v: exit code %d\n%s", dry, code, out)
		}
	}
	c.config, c.args = after, nil
	c.startServer()
	if n, err := countMatches(c.server.url, "zither"); err != nil || n != 1 {
		t.Errorf("search at once after the start: %d matches, %v", n, err)
	}
	if n, _ := metricOf(c.server, "quarry_projections_records_total", ""); n != 0 {
		t.Errorf("%v records were applied again", n)
	}
	must(t, c.server.stop())
	broker.Clear()
	c.moveToFourPartitions(before, key, moveClock)
}

// moveToFourPartitions moves a log with three partitions to four on the brokers of a
// configuration, with kills. A server continues there with the same data directory: it
// applies and indexes nothing again, and the next push costs its one file.
func (c *crashing) moveToFourPartitions(kafka, key string, moveClock func(time.Duration)) {
	t := c.t
	text, err := os.ReadFile(kafka)
	must(t, err)
	writeTextFile(t, kafka, strings.Replace(string(text), `"driver":"kafka"`, `"driver":"kafka","partitions":4`, 1))
	arguments := []string{"copy", "--config", c.config, "--data", c.data, "--to", kafka}
	if out, code := runTopics(t, arguments...); code != 1 || !strings.Contains(out, "--repartition changes the number") {
		t.Errorf("a copy to another number of partitions: exit code %d, want 1\n%s", code, out)
	}
	arguments = append(arguments, "--repartition")
	if _, code := runTopics(t, append(arguments, "--dry-run")...); code != 0 {
		t.Errorf("dry run: exit code %d", code)
	}
	kills := 0
	for life := 200 * time.Millisecond; killAfter(t, exec.Command("quarry", append([]string{"topics"}, arguments[:len(arguments):len(arguments)]...)...), life, func() {}); life += life / 2 {
		kills++
	}
	t.Logf("killed %d times", kills)
	if kills == 0 {
		t.Error("no move was killed")
	}
	if out, code := runTopics(t, arguments...); code != 1 || !strings.Contains(out, "the new log is complete") {
		t.Errorf("a second move: exit code %d, want 1\n%s", code, out)
	}

	c.config = kafka
	moveClock(200 * 24 * time.Hour) // the audit log is trimmed
	c.startServer()
	for _, word := range []string{"vuvuzela", "zither"} {
		if n, err := countMatches(c.server.url, word); err != nil || n != 1 {
			t.Errorf("search for %s at once after the start: %d matches, %v", word, n, err)
		}
	}
	if status := c.server.statusWithKey(t, key); status != http.StatusOK {
		t.Errorf("the key of before: %d", status)
	}
	if n, _ := metricOf(c.server, "quarry_projections_records_total", ""); n != 0 {
		t.Errorf("%v records were applied again", n)
	}
	c.verifyAudit()
	moveClock(0)
	c.commitFile("again", "pushed to four partitions: ocarina")
	if status, answer, err := deliverPush(c.server.url, "msg_again", push{Repository: c.tree, Ref: "refs/heads/main"}); err != nil || status != http.StatusAccepted {
		t.Fatalf("push: %d %s: %v", status, answer, err)
	}
	c.awaitWord("ocarina")
	for _, name := range []string{"quarry_indexer_revisions_total", "quarry_indexer_documents_total"} {
		if n, _ := metricOf(c.server, name, ""); n != 1 {
			t.Errorf("%s is %v, want only the new push", name, n)
		}
	}
	if out, err := exec.Command("quarry", "verify", "--server", c.server.url, "--data", c.data).CombinedOutput(); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
	must(t, c.server.stop())
	if out, err := exec.Command("quarry", "replay", "--verify", "--config", kafka, "--data", c.data).CombinedOutput(); err != nil {
		t.Errorf("replay --verify: %v\n%s", err, out)
	}
}

// verifyAudit expects the audit log to be as it was written.
func (c *crashing) verifyAudit() {
	c.t.Helper()
	out, err := exec.Command("quarry", "audit", "verify", "--server", c.server.url, "--data", c.data).CombinedOutput()
	if err != nil {
		c.t.Errorf("audit verify: %v\n%s", err, out)
	}
}

// trimAuditLog deletes the audit records before the last seal that seals the record
// directly before it, as a server does.
func trimAuditLog(t *testing.T, dir string) {
	t.Helper()
	log, err := embeddedlog.Open(dir, embeddedlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { must(t, log.Close()) }()
	ends, err := log.HighWater(t.Context(), event.TopicAudit)
	if err != nil {
		t.Fatal(err)
	}
	before := event.Offset(0)
	for rec, err := range event.ReadRange(t.Context(), log, event.TopicAudit, 0, 0, ends[0]) {
		if err != nil {
			t.Fatal(err)
		}
		_, ev, err := event.Decode(rec)
		seal, ok := ev.(*event.AuditSealed)
		if err == nil && ok && slices.ContainsFunc(seal.Chains, func(h event.ChainHead) bool {
			return h.Topic == event.TopicAudit && h.Offset == rec.Position.Offset-1
		}) {
			before = rec.Position.Offset
		}
	}
	if before == 0 {
		t.Fatal("no seal seals the record before it")
	}
	must(t, log.Trim(t.Context(), event.TopicAudit, 0, before))
	t.Logf("the audit log begins at offset %d of %d", before, ends[0])
}
