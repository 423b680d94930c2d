package dashboards

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/testserver"
)

const (
	// hangTimeout only ends a hang.
	hangTimeout = 3 * time.Minute
	// pollInterval is the interval at which Prometheus is asked until it has scraped.
	pollInterval = 100 * time.Millisecond
)

// prometheusServer is a running Prometheus.
type prometheusServer struct{ url string }

// startPrometheus runs Prometheus until the test ends. It scrapes target each second and
// evaluates the rules in deploy/prometheus.
func startPrometheus(t *testing.T, target string) *prometheusServer {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
			t.Fatal(err)
		}
		t.Skip("prometheus is not installed; Debian and Ubuntu have it in the package prometheus")
	}
	dir := t.TempDir()
	rules, err := filepath.Abs(filepath.Join(root, "deploy/prometheus"))
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%s/rules.yml, %[1]s/slo.yml]\nscrape_configs:\n  - {job_name: quarry, static_configs: [{targets: [%q]}]}\n",
		rules, target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0", "--log.level=info")
	log, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	hang := time.AfterFunc(hangTimeout, func() { _ = command.Process.Kill() })
	defer hang.Stop()
	listening := regexp.MustCompile(`"?Listening on"? address=(\S+)`)
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			go func() {
				for lines.Scan() { // so that Prometheus never waits for this reader
				}
			}()
			return &prometheusServer{"http://" + m[1]}
		}
	}
	t.Fatal("prometheus ended, or did not say where it listens")
	return nil
}

// runQuery returns the number of series that an instant query gives.
func (p *prometheusServer) runQuery(expr string) (int, error) {
	response, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return 0, fmt.Errorf("%s: %w", response.Status, err)
	}
	if answer.Status != "success" {
		return 0, fmt.Errorf("%s: %s", answer.Status, answer.Error)
	}
	return len(answer.Data.Result), nil
}

// waitForSeries returns once a query gives a series.
func (p *prometheusServer) waitForSeries(t *testing.T, expr string) {
	t.Helper()
	for tick, late := time.NewTicker(pollInterval), time.After(hangTimeout); ; {
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-late:
			t.Fatalf("%s gives nothing after %v", expr, hangTimeout)
		case <-tick.C:
			if n, err := p.runQuery(expr); err == nil && n > 0 {
				return
			}
		}
	}
}

// TestPanelsOnARealServer runs every query of every panel in a Prometheus that scraped a
// server with all roles, after a repository was indexed and searched.
func TestPanelsOnARealServer(t *testing.T) {
	repositories := t.TempDir()
	testserver.MakeRepository(t, filepath.Join(repositories, "kettle"))
	binary := testserver.Build(t)
	server := testserver.Start(t, binary, repositories, "--set", "metricsListen=main")
	prometheus := startPrometheus(t, strings.TrimPrefix(server.URL, "http://"))
	prometheus.waitForSeries(t, `count_over_time((up{job="quarry"} == 1)[1h:1s]) >= 2`) // so that it sees counters grow
	run := func(args ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), binary, append(args, "--data", server.Data, "--server", server.URL)...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	run("index", filepath.Join(repositories, "kettle"), "--name", "kettle")
	run("log", "kettle", "src/boil.go")
	run("search", "sym:Boil")
	prometheus.waitForSeries(t, `quarry_api_request_duration_seconds_count{route=~".*search.*"}`)
	run("search", "sym:Boil") // requests are counted by series that begin with their first value
	prometheus.waitForSeries(t, "quarry:latency_errors:ratio_30d and on() quarry:freshness_errors:ratio_30d and on() quarry:availability_errors:ratio_30d")
	for _, b := range allBoards() {
		for _, r := range b.rows {
			for _, p := range r.panels {
				checkPanel(t, prometheus, b.title+" / "+r.title+" / "+p.title, p)
			}
		}
	}
}

// checkPanel checks that each query of a panel has data, or that none has where the panel
// says why.
func checkPanel(t *testing.T, prometheus *prometheusServer, name string, p panel) {
	t.Helper()
	for _, q := range p.queries {
		expr := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(q.expand())
		switch n, err := prometheus.runQuery(expr); {
		case err != nil:
			t.Errorf("%s: %s: %v", name, expr, err)
		case n == 0 && p.absent == "":
			t.Errorf("%s: %s gives no data", name, expr)
		case n > 0 && p.absent != "":
			t.Errorf("%s: %s gives data, although %s", name, expr, p.absent)
		}
	}
}

// TestPanelsNameKnownMetrics compares the metrics of all queries with docs/metrics.md and
// the recorded rules.
func TestPanelsNameKnownMetrics(t *testing.T) {
	pages := map[string]string{}
	for _, name := range []string{"docs/metrics.md", "deploy/prometheus/slo.yml"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(text)
	}
	var known []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(quarry_[a-z_]+)` \\| ([a-z]*) ").FindAllStringSubmatch(pages["docs/metrics.md"], -1) {
		known = append(known, row[1])
		if row[2] == "histogram" {
			known = append(known, row[1]+"_bucket", row[1]+"_count", row[1]+"_sum")
		}
	}
	for _, rule := range regexp.MustCompile(`record: (\S+)`).FindAllStringSubmatch(pages["deploy/prometheus/slo.yml"], -1) {
		known = append(known, rule[1])
	}
	titles := map[string]bool{}
	for _, b := range allBoards() {
		for _, r := range b.rows {
			for _, p := range r.panels {
				if title := b.title + r.title + p.title; titles[title] {
					t.Errorf("%s has two panels %q in the row %q", b.title, p.title, r.title)
				} else {
					titles[title] = true
				}
				for _, q := range p.queries {
					for _, metric := range regexp.MustCompile(`quarry[_:][a-z0-9_:]+`).FindAllString(q.expr, -1) {
						if !slices.Contains(known, metric) {
							t.Errorf("%s / %s reads %s, which servers do not write", b.title, p.title, metric)
						}
					}
				}
			}
		}
	}
}
