package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// reloading is a server whose settings file changes while it runs.
type reloading struct {
	*crashing
	secret string // path of the secret's file
	seen   int    // length of the output seen so far
}

// writeConfig writes the settings file, with the values that tests change.
func (r *reloading) writeConfig(level, timeout string, more ...any) {
	r.t.Helper()
	connection := func(name string) map[string]any {
		return map[string]any{"name": name, "kind": "genericGitHost", "secrets": []string{"file:" + r.secret}}
	}
	connections := []any{connection("local")}
	for _, name := range more {
		connections = append(connections, connection(name.(string)))
	}
	text, err := json.Marshal(map[string]any{
		"logging": map[string]any{"level": level, "format": "json"}, "query": map[string]any{"timeout": timeout},
		"git": map[string]any{"allowedRoots": []string{r.dir}}, "connections": connections,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	writeTextFile(r.t, r.config, string(text))
}

// hangUp sends SIGHUP and returns the log line about the reload.
func (r *reloading) hangUp() (line map[string]any) {
	r.t.Helper()
	if err := r.server.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		r.t.Fatal(err)
	}
	if !pollUntil(func() bool {
		text := r.server.output.String()[r.seen:]
		for at := range strings.Lines(text) {
			if strings.HasSuffix(at, "\n") && strings.Contains(at, `"msg":"settings `) {
				r.seen += strings.Index(text, at) + len(at)
				return json.Unmarshal([]byte(at), &line) == nil
			}
		}
		return r.server.hasExited()
	}) || line == nil {
		r.t.Fatalf("SIGHUP led to no line; the server is gone: %t\n%s", r.server.hasExited(), r.server.output)
	}
	return line
}

// metricValue returns the value of a metric without labels as text.
func (r *reloading) metricValue(name string) string {
	r.t.Helper()
	response, err := http.Get(r.server.metricsURL + "/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n"+name+" ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// deliverTo sends an empty delivery, signed with the secret of the tests, and returns the
// status: 401 with another secret, 404 without the connection.
func (r *reloading) deliverTo(connection string) int {
	r.t.Helper()
	body := []byte(`{"repository":"nothing"}`)
	status, _, err := sendRequest(http.MethodPost, r.server.url+"/webhooks/genericGitHost/"+connection, signedHeader("msg_"+connection, body), body)
	if err != nil {
		r.t.Fatal(err)
	}
	return status
}

func TestReload(t *testing.T) {
	t.Parallel()
	c := newCrashing(t)
	r := &reloading{crashing: c, secret: filepath.Join(c.dir, "hook")}
	other := "whsec_" + strings.Repeat("A", 43) + "="
	writeTextFile(t, r.secret, other)
	r.writeConfig("info", "20s")
	c.startServer()
	if status := r.deliverTo("local"); status != http.StatusUnauthorized {
		t.Fatalf("with another secret: %d, want 401", status)
	}

	// Nothing has changed.
	if line := r.hangUp(); line["changed"] != "" || line["restart_needed"] != "" {
		t.Errorf("nothing has changed: %v", line)
	}
	// Only the file of a secret changes.
	writeTextFile(t, r.secret, hookSecretText)
	if line := r.hangUp(); line["changed"] != "connections" || line["restart_needed"] != "" {
		t.Errorf("another secret: %v", line)
	}
	if status := r.deliverTo("local"); status == http.StatusUnauthorized {
		t.Error("the new secret is not taken")
	}
	// Level and connections change; the time limit of searches needs a restart.
	r.writeConfig("debug", "10s", "second")
	if line := r.hangUp(); line["changed"] != "logging.level,connections" || line["restart_needed"] != "query.timeout" || line["level"] != "WARN" {
		t.Errorf("level, connections and a limit: %v", line)
	}
	if status := r.deliverTo("second"); status == http.StatusUnauthorized || status == http.StatusNotFound && r.seriesOf("second") == 0 {
		t.Errorf("a new connection: %d", status)
	}
	if r.seriesOf("second") == 0 {
		t.Error("a new connection has no series")
	}
	if !pollUntil(func() bool {
		r.server.getStatus("/api/version")
		return strings.Contains(r.server.output.String(), `"level":"DEBUG"`)
	}) {
		t.Error("no line at the level debug")
	}
	taken := r.metricValue("quarry_server_reload_timestamp_seconds")
	if got := r.metricValue("quarry_server_reload_success"); got != "1" || taken == "" {
		t.Errorf("metrics after a reload: success %s, time %s", got, taken)
	}

	// An invalid file changes nothing, even if the rest of it is valid.
	for what, spoil := range map[string]func(){
		"yaml":             func() { writeTextFile(t, r.config, "logging: {level: error}\nconnections: [") },
		"a setting":        func() { writeTextFile(t, r.config, "logging: {level: error}\nquery: {timeout: soon}\n") },
		"a missing secret": func() { r.writeConfig("error", "20s"); writeTextFile(t, r.secret, "") },
		"a bad secret":     func() { r.writeConfig("error", "20s"); writeTextFile(t, r.secret, "whsec_%%%") },
	} {
		spoil()
		line := r.hangUp()
		if line["level"] != "ERROR" || line["error"] == "" || line["error"] == nil {
			t.Errorf("%s: %v", what, line)
		}
		if got := r.metricValue("quarry_server_reload_success"); got != "0" {
			t.Errorf("%s: success is %s", what, got)
		}
		if got := r.metricValue("quarry_server_reload_timestamp_seconds"); got != taken {
			t.Errorf("%s: settings were taken over at %s, want %s as before", what, got, taken)
		}
		if status := r.deliverTo("second"); status == http.StatusUnauthorized || r.seriesOf("second") == 0 {
			t.Errorf("%s: the connections have changed: %d", what, status)
		}
	}
	// A removed connection is gone, and the message about the restart remains until the
	// restart.
	writeTextFile(t, r.secret, hookSecretText)
	r.writeConfig("info", "10s")
	if line := r.hangUp(); line["changed"] != "logging.level,connections" || line["restart_needed"] != "query.timeout" {
		t.Errorf("without the second connection: %v", line)
	}
	if status := r.deliverTo("second"); status != http.StatusNotFound || r.seriesOf("second") != 0 {
		t.Errorf("a connection that was removed: %d, and %d series", status, r.seriesOf("second"))
	}
	if err := c.server.stop(); err != nil {
		t.Error(err)
	}
	c.server = nil
}

// seriesOf returns the number of series of deliveries to a connection.
func (r *reloading) seriesOf(connection string) int {
	r.t.Helper()
	response, err := http.Get(r.server.metricsURL + "/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Count(string(text), `quarry_webhook_deliveries_total{connection="`+connection+`"`)
}
