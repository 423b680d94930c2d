package web

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	dto "github.com/prometheus/client_model/go"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

// failedShown is how many failed deliveries the overview lists.
const failedShown = 5

// adminOverview is the data of the overview of the administration pages.
type adminOverview struct {
	Readiness    *wire.Readiness
	NotReady     string // the reason; empty if the server is ready
	Version      string
	Repositories int
	DeadLetters  int
	Running      *wire.Replay
	Failed       []wire.Delivery
	Replicas     []sharding.Replica // of the shards of a front
	LostShares   []string           // of which no replica answers
	Groups       []figureGroup
}

// A figureGroup is a table of figures of this process, under a heading.
type figureGroup struct {
	Title   string
	Figures []figure
}

// A figure is a metric of this process, formatted for people.
type figure struct{ Name, Label, Value string }

// Gatherer provides the metrics of this process; a Prometheus registry implements it.
type Gatherer interface {
	Gather() ([]*dto.MetricFamily, error)
}

// unit is the unit of a metric.
type unit int

const (
	unitCount unit = iota
	unitBytes
	unitSeconds
)

// shownMetrics are the metrics of the page, by group; each has the key of a text.
var shownMetrics = []struct {
	group   string
	metrics []shownMetric
}{
	{"index", []shownMetric{
		{"quarry_catalog_repositories", "repositories", unitCount, sumValues, ""},
		{"quarry_places_documents", "documents", unitCount, sumValues, ""},
		{"quarry_places_text_bytes", "text", unitBytes, sumValues, ""},
		{"quarry_places_live_text_bytes", "livetext", unitBytes, sumValues, ""},
		{"quarry_places_segments", "segments", unitCount, sumValues, ""},
		{"quarry_compactor_merges_total", "merges", unitCount, sumValues, ""},
	}},
	{"flow", []shownMetric{
		{"quarry_deliveries_waiting", "waiting", unitCount, sumValues, ""},
		{"quarry_worker_lag_records", "workerrecords", unitCount, sumValues, ""},
		{"quarry_worker_lag_seconds", "workerseconds", unitSeconds, slices.Max[[]float64], ""},
		{"quarry_projections_lag_records", "projectionrecords", unitCount, sumValues, ""},
		{"quarry_projections_lag_seconds", "projectionseconds", unitSeconds, slices.Max[[]float64], ""},
		{"quarry_deadletters_open", "deadletters", unitCount, sumValues, ""},
		{"quarry_reconcile_drift_total", "drift", unitCount, sumValues, ""},
	}},
	{"resources", []shownMetric{
		{"process_resident_memory_bytes", "memory", unitBytes, sumValues, ""},
		{"quarry_store_cache_bytes", "cache", unitBytes, sumValues, ""},
		{"quarry_store_disk_bytes", "store", unitBytes, sumValues, ""},
		{"quarry_embeddedlog_disk_bytes", "log", unitBytes, sumValues, ""},
		{"quarry_server_disk_used_bytes", "used", unitBytes, sumValues, "directory"},
		{"quarry_server_disk_free_bytes", "free", unitBytes, slices.Min[[]float64], ""},
		{"quarry_search_waiting", "searches", unitCount, sumValues, ""},
	}},
}

// A shownMetric is a figure derived from the series of a metric: their sum, maximum or
// minimum, or one figure for each value of a label.
type shownMetric struct {
	name, text string
	unit       unit
	combine    func(values []float64) float64
	by         string // a label
}

func sumValues(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

func (s *Server) adminPage(w http.ResponseWriter, v *pageRequest) error {
	ctx := v.r.Context()
	api, o := s.operationsOf(v), &adminOverview{Version: s.o.Version}
	var err error
	if s.o.Readiness != nil {
		if o.Readiness, err = s.o.Readiness(ctx); err != nil {
			o.NotReady = err.Error()
		}
	}
	repositories, err := api.ListRepositories(ctx, client.ListRepositoriesParams{PerPage: 1})
	if err != nil {
		return operationError(v, err)
	}
	o.Repositories = repositories.Total
	if letters, err := api.ListDeadLetters(ctx, client.ListDeadLettersParams{PerPage: 1}); err == nil {
		o.DeadLetters = letters.Open
	} else if !isMissing(err) {
		return operationError(v, err)
	}
	if failed, err := api.ListDeliveries(ctx, client.ListDeliveriesParams{Outcome: string(wire.DeliveryOutcomeFailed), Limit: failedShown}); err == nil {
		o.Failed = failed.Deliveries
	} else if !isMissing(err) {
		return operationError(v, err)
	}
	if s.o.Replicas != nil {
		o.setReplicas(s.o.Replicas())
	}
	if o.Groups, err = s.gatherFigures(); err != nil {
		return err
	}
	return s.renderPage(w, v, view{template: "admin", title: s.texts.mustFormat("admin"), data: o})
}

// setReplicas sets the replicas, and the shares of which none answers.
func (o *adminOverview) setReplicas(replicas []sharding.Replica) {
	o.Replicas = replicas
	for _, r := range replicas {
		answers := func(other sharding.Replica) bool { return other.Share == r.Share && other.Failure == nil }
		if !slices.ContainsFunc(replicas, answers) && !slices.Contains(o.LostShares, r.Share) {
			o.LostShares = append(o.LostShares, r.Share)
		}
	}
}

// gatherFigures reads the metrics of the page. A metric with a label has a figure for
// each of its values; metrics that this process does not have are omitted.
func (s *Server) gatherFigures() ([]figureGroup, error) {
	if s.o.Gatherer == nil {
		return nil, nil
	}
	families, err := s.o.Gatherer.Gather()
	if err != nil {
		return nil, fmt.Errorf("gather metrics: %w", err)
	}
	byName := map[string][]*dto.Metric{}
	for _, family := range families {
		byName[family.GetName()] = family.GetMetric()
	}
	var groups []figureGroup
	for _, g := range shownMetrics {
		group := figureGroup{Title: s.texts.mustFormat("admin_group_" + g.group)}
		for _, m := range g.metrics {
			values := m.valuesByLabel(byName[m.name])
			for _, value := range slices.Sorted(maps.Keys(values)) {
				label := s.texts.mustFormat("admin_metric_" + m.text)
				if value != "" {
					label += ": " + value
				}
				group.Figures = append(group.Figures, figure{m.name, label, m.unit.format(m.combine(values[value]))})
			}
		}
		if len(group.Figures) > 0 {
			groups = append(groups, group)
		}
	}
	return groups, nil
}

// valuesByLabel returns the values of the series by the value of the label; the key is ""
// if there is no label.
func (m *shownMetric) valuesByLabel(series []*dto.Metric) map[string][]float64 {
	values := map[string][]float64{}
	for _, one := range series {
		at := ""
		for _, label := range one.GetLabel() {
			if label.GetName() == m.by {
				at = label.GetValue()
			}
		}
		values[at] = append(values[at], one.GetGauge().GetValue()+one.GetCounter().GetValue()+one.GetUntyped().GetValue())
	}
	return values
}

// format formats a value with its unit.
func (u unit) format(value float64) string {
	switch u {
	case unitBytes:
		return formatBytes(int64(value))
	case unitSeconds:
		return fmt.Sprintf("%.1f s", value)
	}
	return formatNumber(int(value))
}

// formatBytes formats a size in the largest unit that it reaches.
func formatBytes(n int64) string {
	const units = "kMGTP"
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/1000, 0
	for value >= 1000 && unit < len(units)-1 {
		value, unit = value/1000, unit+1
	}
	return fmt.Sprintf("%.1f %cB", value, units[unit])
}
