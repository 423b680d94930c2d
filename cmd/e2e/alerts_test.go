package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// alertMinutes is for how long each of the two states of a server is shown to
// Prometheus: longer than the longest "for" of the alerts below.
const alertMinutes = 20

// sampled are the samples of the scrapes of a server, in their order, by series.
type sampled struct {
	scrapes int
	series  map[string][]string
}

var samplePattern = regexp.MustCompile(`(?m)^((?:quarry_|process_start_time_seconds)[a-z_]*)(?:\{(.*)\})? (\S+)$`)

// scrape adds what Prometheus would keep of GET /metrics, or of its failure.
func (m *sampled) scrape(s *server) {
	if m.series == nil {
		m.series = map[string][]string{}
	}
	const target = `instance="a:7070",job="quarry"`
	seen := map[string]string{"up{" + target + "}": "0"}
	if response, err := http.Get(s.url + "/metrics"); err == nil {
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		seen["up{"+target+"}"] = "1"
		for _, sample := range samplePattern.FindAllStringSubmatch(string(text), -1) {
			labels := strings.TrimPrefix(sample[2]+","+target, ",")
			seen[sample[1]+"{"+labels+"}"] = sample[3]
		}
	}
	for name := range seen {
		values := m.series[name]
		for len(values) < m.scrapes {
			values = append(values, "_") // it was not there yet
		}
		m.series[name] = values
	}
	m.scrapes++
	for name, values := range m.series {
		value, ok := seen[name]
		if !ok {
			value = "_"
		}
		m.series[name] = append(values, value)
	}
}

// rulesTest writes a test of promtool: the first scrape holds for alertMinutes, the
// others follow one a minute, and the last holds again. The alert does not fire in the
// first part, and does in the last.
func (m *sampled) rulesTest(rules, alert string) string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "rule_files: [%s]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n", rules)
	for name, values := range m.series {
		all := strings.TrimSpace(strings.Repeat(values[0]+" ", alertMinutes)+strings.Join(values, " ")) +
			strings.Repeat(" "+values[len(values)-1], alertMinutes)
		_, _ = fmt.Fprintf(&b, "      - {series: '%s', values: '%s'}\n", name, all)
	}
	firing := fmt.Sprintf(`'group by (alertname) (ALERTS{alertname="%s",alertstate="firing"})'`, alert)
	_, _ = fmt.Fprintf(&b, "    promql_expr_test:\n      - {eval_time: %dm, expr: %s}\n", alertMinutes-1, firing)
	_, _ = fmt.Fprintf(&b, "      - {eval_time: %dm, expr: %s, exp_samples: [{labels: '{alertname=\"%s\"}', value: 1}]}\n", 2*alertMinutes+m.scrapes-1, firing, alert)
	return b.String()
}

// TestAlertsOfRealFaults makes faults and holds the alerts to what the server then
// says of itself, as promtool evaluates them.
func TestAlertsOfRealFaults(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	switch {
	case errors.Is(err, exec.ErrNotFound) && os.Getenv("QUARRY_REQUIRE_ALL") != "1":
		t.Skip("promtool is not installed; Debian and Ubuntu have it in the package prometheus")
	case err != nil:
		t.Fatal(err)
	}
	rules, err := filepath.Abs("../../deploy/prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(`{"repository":"demo"}`)
	for _, fault := range []struct {
		alert string
		set   string // settings as environment variables
		make  func(c *crashing, m *sampled)
		// until is in the metrics once the fault shows; empty: it does at once.
		until string
	}{
		{alert: "QuarryDown", make: func(c *crashing, _ *sampled) { c.server.kill() }},
		{alert: "QuarryRestarts", make: func(c *crashing, m *sampled) {
			for range 4 {
				c.server.kill()
				c.start()
				m.scrape(c.server)
			}
		}},
		{alert: "QuarryHooksUnauthenticated", make: func(c *crashing, _ *sampled) {
			forged := signed("msg_forged", body)
			forged.Set("webhook-signature", "v1,"+strings.Repeat("A", 43)+"=")
			if status, _, err := send(http.MethodPost, c.server.url+hookPath, forged, body); err != nil || status != http.StatusUnauthorized {
				c.t.Fatalf("forged: %d, %v", status, err)
			}
		}},
		{alert: "QuarryReloadFailed", until: "quarry_server_reload_success 0", make: func(c *crashing, _ *sampled) {
			write(c.t, c.config, "connections: [")
			if err := c.server.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				c.t.Fatal(err)
			}
		}},
		{
			alert: "QuarryDeadLetters", set: "QUARRY_PIPELINE_MAX_ATTEMPTS=2", until: `quarry_deadletters_open{stage="worker"} 1`,
			make: func(c *crashing, _ *sampled) { c.loseObjects()("msg_lost") },
		},
		{
			// The worker cannot handle the first push, and the others wait behind it.
			alert: "QuarryBacklog", set: "QUARRY_PIPELINE_MAX_ATTEMPTS=1000 QUARRY_INGEST_MAX_BACKLOG=2",
			make: func(c *crashing, _ *sampled) {
				lost, n := c.loseObjects(), 0
				if !poll(awaitDeadline, func() bool {
					n++
					return lost(fmt.Sprintf("msg_lost%d", n)) == http.StatusServiceUnavailable
				}) {
					c.t.Fatal("no web hook gets 503")
				}
			},
		},
		{
			alert: "QuarryHooksAreLost", set: "QUARRY_PIPELINE_RECONCILE_INTERVAL=1s", until: "quarry_reconcile_drift_total 1",
			make: func(c *crashing, _ *sampled) { c.commit("second", "here is a cittern") }, // and no hook
		},
	} {
		t.Run(fault.alert, func(t *testing.T) {
			for setting := range strings.FieldsSeq(fault.set) {
				name, value, _ := strings.Cut(setting, "=")
				t.Setenv(name, value)
			}
			t.Setenv("QUARRY_PIPELINE_RECONCILE_GRACE", "100ms")
			c := newCrashing(t)
			c.start()
			c.index()
			c.await("vuvuzela")
			m := new(sampled)
			m.scrape(c.server)
			fault.make(c, m)
			if fault.until != "" && !poll(awaitDeadline, func() bool { return strings.Contains(metricsOf(c.server), "\n"+fault.until+"\n") }) {
				t.Fatalf("the fault does not show as %s\n%s", fault.until, c.warnings())
			}
			m.scrape(c.server)
			file := filepath.Join(t.TempDir(), "test.yml")
			write(t, file, m.rulesTest(rules, fault.alert))
			if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", file).CombinedOutput(); err != nil {
				t.Errorf("promtool: %v\n%s", err, out)
			}
		})
	}
}

// loseObjects commits, takes the objects of the repository away, and returns what
// delivers the push, which the worker then cannot handle.
func (c *crashing) loseObjects() func(id string) (status int) {
	c.t.Helper()
	c.commit("second", "here is a cittern")
	at := commitOf(c.tree, "HEAD")
	if err := os.Rename(filepath.Join(c.tree, ".git", "objects"), filepath.Join(c.tree, ".git", "away")); err != nil {
		c.t.Fatal(err)
	}
	return func(id string) int {
		status, answer, err := deliver(c.server.url, id, push{Repository: c.tree, Ref: "refs/heads/main", After: at})
		if err != nil || status != http.StatusAccepted && status != http.StatusServiceUnavailable {
			c.t.Fatalf("push: %d %s, %v", status, answer, err)
		}
		return status
	}
}

// metricsOf returns the metrics of a server, empty if it does not answer.
func metricsOf(s *server) string {
	response, err := http.Get(s.url + "/metrics")
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(response.Body)
	return string(text)
}
