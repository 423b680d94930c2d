package server

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/loopback"
	"github.com/quarrysearch/quarry/cmd/internal/traces/tracestest"
)

// traceOf returns the names of the spans in the trace whose root has an attribute, in the form
// "name of the parent > name"; nil without such a root or if a parent is missing.
func traceOf(spans []tracestest.Span, root, attribute string) (names []string) {
	i := slices.IndexFunc(spans, func(s tracestest.Span) bool {
		return s.Name == root && len(s.ParentSpanId) == 0 && strings.Contains(fmt.Sprint(s.Attributes), attribute)
	})
	if i < 0 {
		return nil
	}
	byID := map[string]string{"": ""}
	for _, s := range spans {
		byID[string(s.SpanId)] = s.Name
	}
	for _, s := range spans {
		if string(s.TraceId) != string(spans[i].TraceId) {
			continue
		}
		parent, ok := byID[string(s.ParentSpanId)]
		if !ok {
			return nil
		}
		names = append(names, parent+" > "+s.Name)
	}
	return names
}

// startCollector starts an OpenTelemetry collector that sends spans on to a URL, and returns its
// own. Without the program (make collector), it returns the URL.
func startCollector(t *testing.T, next string) string {
	t.Helper()
	program, err := exec.LookPath("otelcol")
	if err != nil {
		t.Log("spans arrive without a collector: make collector, and add .cache/otelcol to PATH")
		return next
	}
	address, err := loopback.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "collector.yaml")
	text := fmt.Sprintf(`
receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {otlp_http: {traces_endpoint: %q}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [otlp_http]}}
`, address, next)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "--config", file)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
	})
	return "http://" + address
}

// TestTraces follows a push from its webhook until it is searchable, and a search, and checks
// that spans have no text, and that histograms name traces.
func TestTraces(t *testing.T) {
	t.Parallel()
	c := tracestest.Start(t)
	g := newGitRepository(t, "hidden-name")
	settings := testConfig(t, "git.allowedRoots="+g.dir, "tracing.endpoint="+startCollector(t, c.URL), "tracing.sampleRatio=1", "metricsListen=main")
	settings.Connections = []config.Connection{{Name: "local", Kind: g.Kind, Secrets: []config.Secret{config.NewSecret("whsec_" + base64.StdEncoding.EncodeToString([]byte(pressureSecret)))}}}
	s := runServer(t, settings)
	s.registerAt(t, g, g.commitFiles("secret.txt", "the clavichord"))
	commit := g.commitFiles("secret.txt", "the clavichord and the crwth")
	if status, _ := s.pushTo(t, g, 1); status != http.StatusAccepted {
		t.Fatalf("push: %d", status)
	}
	waitUntil(t, func() bool { return s.defaultAt(g.ID) == commit })
	if status, answer := s.asOperator(t, http.MethodPost, "/api/search", `{"query":"crwth clavichord","matches":10}`, "followed"); status != http.StatusOK || !strings.Contains(answer, "crwth") {
		t.Fatalf("search: %d %s", status, answer)
	}
	for _, trace := range []struct {
		root, attribute string
		want            []string
	}{
		{"POST /webhooks/{kind}/{connection}", "202", []string{
			" > POST /webhooks/{kind}/{connection}", "POST /webhooks/{kind}/{connection} > send quarry.events", "send quarry.events > process quarry.events",
			"process quarry.events > fetch", "process quarry.events > list changes", "process quarry.events > analyze", "analyze > store segment",
			"process quarry.events > announce", "announce > send quarry.events", "send quarry.events > apply quarry.events",
		}},
		{"POST /api/search", "followed", []string{" > POST /api/search", "POST /api/search > assist", "assist > search", "search > plan", "search > visit segments"}},
	} {
		var names []string
		eventuallyOr(t, func() bool {
			names = traceOf(c.Spans(), trace.root, trace.attribute)
			return !slices.ContainsFunc(trace.want, func(name string) bool { return !slices.Contains(names, name) })
		}, func() string { return fmt.Sprintf("the trace has %q, want %q", names, trace.want) })
	}
	text := fmt.Sprint(c.Spans())
	for _, secret := range []string{"crwth", "clavichord", "secret.txt", "hidden-name", "refs/heads", string(commit)} {
		if strings.Contains(text, secret) {
			t.Errorf("spans have %q", secret)
		}
	}
	r, err := http.NewRequest(http.MethodGet, s.URL()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"quarry_search_duration_seconds_bucket", "quarry_api_request_duration_seconds_bucket", "quarry_push_to_searchable_seconds_bucket"} {
		found := false
		for line := range strings.Lines(string(metrics)) {
			found = found || strings.HasPrefix(line, name) && strings.Contains(line, `# {trace_id="`)
		}
		if !found {
			t.Errorf("%s names no trace", name)
		}
	}
}
