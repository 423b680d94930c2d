package e2e

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/traces/tracestest"
)

// awaitTrace waits until a trace has a span with each of some names, of as many processes, and
// checks that it has one root, from which all others descend.
func awaitTrace(t *testing.T, c *tracestest.Collector, trace string, processes int, names ...string) {
	t.Helper()
	var spans []tracestest.Span
	if !pollUntil(func() bool {
		spans = slices.DeleteFunc(c.Spans(), func(s tracestest.Span) bool { return hex.EncodeToString(s.TraceId) != trace })
		instances, missing, known := map[string]bool{}, slices.Clone(names), map[string]bool{"": true}
		for _, s := range spans {
			instances[s.Instance], known[string(s.SpanId)] = true, true
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == s.Name })
		}
		orphan := slices.ContainsFunc(spans, func(s tracestest.Span) bool { return !known[string(s.ParentSpanId)] })
		return len(missing) == 0 && len(instances) >= processes && !orphan
	}) {
		t.Errorf("trace %s: want %q of %d processes; have", trace, names, processes)
		for _, s := range spans {
			t.Errorf("%s of %s", s.Name, s.Instance)
		}
		return
	}
	roots := slices.DeleteFunc(slices.Clone(spans), func(s tracestest.Span) bool { return len(s.ParentSpanId) > 0 })
	if len(roots) != 1 || roots[0].Name != names[0] {
		t.Errorf("trace %s has %d roots", trace, len(roots))
	}
}

// checkTraces follows a push from the webhook until it is searchable, and a search over all shards.
func (c *shardCluster) checkTraces(t *testing.T) {
	var accepted struct{ MinPosition string }
	must(t, json.Unmarshal([]byte(c.pushWord("crwth")), &accepted))
	logged := regexp.MustCompile(`delivery_id=msg_crwth .*trace_id=([0-9a-f]{32})`)
	var found []string
	if !pollUntil(func() bool {
		found = logged.FindStringSubmatch(c.ingest.output.String())
		return found != nil
	}) {
		t.Fatalf("no trace ID of the delivery:\n%s", c.ingest.output.String())
	}
	awaitTrace(t, c.spans, found[1], 1+1+len(c.queries)+len(c.shards)+1, "POST /webhooks/{kind}/{connection}", "send quarry.events", "process quarry.events",
		"fetch", "list changes", "analyze", "store segment", "announce", "apply quarry.events")

	if answer := c.front.searchFrom(t, "crwth", accepted.MinPosition); answer.Stats.Files != 1 {
		t.Errorf("the front finds %+v", answer)
	}
	body := strings.NewReader(`{"query": "crwth", "matches": 10}`)
	r, err := http.NewRequest(http.MethodPost, c.front.url+"/api/search", body)
	must(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Request-Id", "traced-search")
	response, err := clientOf(strings.TrimPrefix(c.front.url, "http://")).Do(r)
	must(t, err)
	_ = response.Body.Close()
	var search tracestest.Span
	if !pollUntil(func() bool {
		for _, s := range c.spans.Spans() {
			if strings.Contains(fmt.Sprint(s.Attributes), "traced-search") {
				search = s
			}
		}
		return search.Span != nil
	}) {
		t.Fatal("no span of the search")
	}
	awaitTrace(t, c.spans, hex.EncodeToString(search.TraceId), 3, "POST /api/search", "assist", "search", "plan", "visit segments", "shard begin", "shard visit", "shard render")

	text := fmt.Sprint(c.spans.Spans())
	for _, secret := range []string{"crwth", c.tree, "refs/heads"} {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("spans have %q: %s", secret, text[max(0, i-200):min(len(text), i+200)])
		}
	}
	checkExemplar(t, c.front, "quarry_search_duration_seconds_bucket", "quarry_api_request_duration_seconds_bucket")
	checkExemplar(t, c.whole, "quarry_push_to_searchable_seconds_bucket")
}

// checkExemplar checks that histograms have examples with the IDs of traces, for scrapers that
// accept them.
func checkExemplar(t *testing.T, s *server, series ...string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.metricsURL+"/metrics", nil)
	must(t, err)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	response, err := clientOf(strings.TrimPrefix(s.url, "http://")).Do(r)
	must(t, err)
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	must(t, err)
	have := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if name, rest, ok := strings.Cut(line, "{"); ok && strings.Contains(rest, `# {trace_id="`) {
			have[name] = true
		}
	}
	for _, name := range series {
		if !have[name] {
			t.Errorf("%s has no examples; those with some are %v", name, slices.Sorted(maps.Keys(have)))
		}
	}
}
