package server

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestReconciliationIndexesPushWithoutWebhook covers the whole path: reconciliation finds
// a push without a webhook, and the push is indexed.
func TestReconciliationIndexesPushWithoutWebhook(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "anvil")
	first := g.commitFiles("a.txt", "the first needle\n")
	s := runServer(t, testConfig(t, "git.allowedRoots="+g.dir,
		"pipeline.reconcileInterval=300ms", "pipeline.reconcileGrace=50ms", "pipeline.reconcileConcurrency=1"))
	s.registerAt(t, g, first)
	second := g.commitFiles("b.txt", "the second needle\n")
	waitUntil(t, func() bool { return s.defaultAt(g.ID) == second })
	equal := func() int { return metricValue(t, s, `quarry_reconcile_looks_total{result="equal"}`) }
	before := equal()
	waitUntil(t, func() bool { return equal() >= before+2 })
	if n := metricValue(t, s, "quarry_reconcile_drift_total"); n != 1 {
		t.Errorf("drift was counted %d times, want once", n)
	}
	_, status := getURL(t, fmt.Sprintf("%s/api/repos/%d/status", s.URL(), g.ID))
	if !strings.Contains(status, `"reconciliation"`) || !strings.Contains(status, `"lookedAt"`) {
		t.Errorf("status %s lacks the last look", status)
	}
}

// metricValue returns the value of one line of /metrics, or 0 if there is none.
func metricValue(t *testing.T, s *Server, name string) int {
	t.Helper()
	_, text := getURL(t, s.MetricsURL()+"/metrics")
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\d+)$`).FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
