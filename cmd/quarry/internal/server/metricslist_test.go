package server

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/query/shards"
)

// metricsPage is written by QUARRY_GENERATE=1 (make generate). docscheck compares the
// alerts with it.
const metricsPage = "../../../../docs/metrics.md"

// listing is a Registerer that records all registrations, because Gather omits metrics
// with labels until they have a value.
type listing struct {
	prometheus.Registerer
	rows map[string]metricRow
}

type metricRow struct{ name, kind, labels, help string }

var descPattern = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: "(.*?)", (?:unit: "[^"]*", )?constLabels: \{.*\}, variableLabels: \{(.*)\}\}$`)

func (l *listing) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc)
	go func() {
		c.Describe(descs)
		close(descs)
	}()
	for d := range descs {
		m := descPattern.FindStringSubmatch(d.String())
		if m == nil {
			return fmt.Errorf("a description in a form that this test does not know: %s", d)
		}
		l.rows[m[1]] = metricRow{m[1], kindOf(c), m[3], strings.ReplaceAll(m[2], `\"`, `"`)}
	}
	return l.Registerer.Register(c)
}

func (l *listing) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := l.Register(c); err != nil {
			panic(err)
		}
	}
}

// kindOf returns the type of a vector. Other collectors must be gathered to find it.
func kindOf(c prometheus.Collector) string {
	switch c.(type) {
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.GaugeVec:
		return "gauge"
	case *prometheus.HistogramVec:
		return "histogram"
	}
	return ""
}

// listMetricRows lists the metrics of a server with all roles, and those of the Kafka
// log.
func listMetricRows(t *testing.T) []metricRow {
	t.Helper()
	registry := boot.NewRegistry("test")
	l := &listing{Registerer: registry, rows: map[string]metricRow{}}
	certFile, keyFile, _ := writeTestCertificate(t)
	open(t, testConfig(t, "tls.certFile="+certFile, "tls.keyFile="+keyFile, "peerTls.certFile="+certFile, "peerTls.keyFile="+keyFile), l, registry)
	kafkalog.NewMetrics(l)
	shards.NewMetrics(l, nil, func() float64 { return 0 })
	shards.NewGitMetrics(l)
	rpc.NewMetrics(l)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "quarry_") {
			continue // a metric of the runtime or the process
		}
		row := l.rows[f.GetName()]
		row.name, row.kind = f.GetName(), strings.ToLower(f.GetType().String())
		row.help = cmp.Or(row.help, f.GetHelp())
		row.labels = strings.Join(labelsOf(row.labels, f), ",")
		l.rows[f.GetName()] = row
	}
	var all []metricRow
	for _, row := range l.rows {
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b metricRow) int { return cmp.Compare(a.name, b.name) })
	return all
}

// labelsOf returns the labels of a metric: those of its vector, in order, then those that
// each series adds.
func labelsOf(variable string, f *dto.MetricFamily) []string {
	labels := strings.FieldsFunc(variable, func(r rune) bool { return r == ',' })
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if !slices.Contains(labels, l.GetName()) {
				labels = append(labels, l.GetName())
			}
		}
	}
	return labels
}

const metricsHead = `# Metrics

` + "`GET /metrics`" + ` on the [operators' listener](network.md#operators-listener), by
default 127.0.0.1:7071, serves these in the text format of Prometheus. Labels are bounded: none is a
repository, a path or a query. The metrics of the Go runtime (` + "`go_`" + `) and of the
process (` + "`process_`" + `) come with them. With ` + "`log.driver: kafka`" + ` those of
` + "`quarry_kafkalog`" + ` take the place of ` + "`quarry_embeddedlog`" + `.

[` + "`deploy/prometheus`" + `](../deploy/prometheus) holds a scrape configuration and alerting
rules. This page is written by ` + "`make generate`" + `.

| Name | Type | Labels | Meaning |
| --- | --- | --- | --- |
`

func TestMetricsPageIsCurrent(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(metricsHead)
	for _, r := range listMetricRows(t) {
		_, _ = fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.name, r.kind, strings.ReplaceAll(r.labels, ",", ", "), strings.ReplaceAll(r.help, "|", `\|`))
	}
	if os.Getenv("QUARRY_GENERATE") == "1" {
		if err := os.WriteFile(metricsPage, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("%s does not list the metrics of a server any more: run make generate", metricsPage)
	}
}

// TestMetricNames checks the naming convention of metrics.
func TestMetricNames(t *testing.T) {
	t.Parallel()
	unit := regexp.MustCompile(`_(seconds|bytes|total|records|info|ratio|segments|documents|repositories|files|partitions|places|refs|searches|streams|views|entries|blocks|frames|readers|mirrors|deliveries|trigrams|matches)$`)
	all := listMetricRows(t)
	for _, r := range all {
		if !strings.HasPrefix(r.name, "quarry_") || r.help == "" {
			t.Errorf("%s: want a name that begins with quarry_ and a help text", r.name)
		}
		if r.kind == "counter" && !strings.HasSuffix(r.name, "_total") {
			t.Errorf("%s: a counter ends in _total", r.name)
		}
		if r.kind == "histogram" && !unit.MatchString(r.name) {
			t.Errorf("%s: a histogram ends in its unit", r.name)
		}
	}
	for _, name := range []string{"quarry_push_to_searchable_seconds", "quarry_projections_lag_records", "quarry_projections_lag_seconds"} {
		if !slices.ContainsFunc(all, func(r metricRow) bool { return r.name == name }) {
			t.Errorf("%s is missing", name)
		}
	}
}
