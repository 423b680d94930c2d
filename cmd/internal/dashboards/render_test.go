package dashboards

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

const root = "../../.."

// A board is a dashboard.
type board struct {
	uid, title, description string
	rows                    []row
}

type row struct {
	title  string
	panels []panel
}

// A panel shows queries over time, or as one number if it is a stat.
type panel struct {
	title, description, unit string
	stat                     bool
	// absent says why a server with all roles in one process has no data for the panel.
	absent  string
	queries []query
}

// A query is an expression of PromQL. In it, $i stands for the matcher of the selected
// instances and $r for the range of rates.
type query struct{ legend, expr string }

func (q query) expand() string {
	return strings.NewReplacer("$i", `instance=~"$instance"`, "$r", "$__rate_interval").Replace(q.expr)
}

// quantiles returns the queries for the median, the 95th and the 99th percentile of a
// histogram.
func quantiles(histogram string) []query {
	var all []query
	for _, q := range []string{"0.5", "0.95", "0.99"} {
		all = append(all, query{"p" + strings.TrimPrefix(q+"0", "0.")[:2], fmt.Sprintf("histogram_quantile(%s, sum by (le) (rate(%s_bucket{$i}[$r])))", q, histogram)})
	}
	return all
}

// allBoards returns every dashboard.
func allBoards() []board {
	return []board{overviewBoard(), pushesBoard(), searchesBoard(), workersBoard(), indexBoard(), accountsBoard()}
}

func dataSource() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}
}

// renderBoard returns the JSON of a dashboard.
func renderBoard(b board) ([]byte, error) {
	//lint:ignore SA1019 the second schema is for Grafana 12 and newer only
	builder := dashboard.NewDashboardBuilder("Quarry / "+b.title).Uid("quarry-"+b.uid).Description(b.description).
		Tags([]string{"quarry"}).Time("now-6h", "now").Refresh("1m").Timezone("browser").Readonly().
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Link(dashboard.NewDashboardLinkBuilder("Quarry").Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{"quarry"}).AsDropdown(true).KeepTime(true).IncludeVars(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")).
		WithVariable(dashboard.NewQueryVariableBuilder("instance").Label("Instance").Datasource(dataSource()).
			Query(dashboard.StringOrMap{String: cog.ToPtr("label_values(quarry_build_info, instance)")}).
			Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Multi(true).IncludeAll(true).AllValue(".*"))
	for _, r := range b.rows {
		builder.WithRow(dashboard.NewRowBuilder(r.title))
		for _, p := range r.panels {
			if p.stat {
				view := stat.NewPanelBuilder().Title(p.title).Description(p.description).Unit(p.unit).Datasource(dataSource()).Height(4).Span(6)
				for _, q := range p.queries {
					view.WithTarget(prometheus.NewDataqueryBuilder().Expr(q.expand()).LegendFormat(q.legend).Instant())
				}
				builder.WithPanel(view)
				continue
			}
			view := timeseries.NewPanelBuilder().Title(p.title).Description(p.description).Unit(p.unit).Datasource(dataSource()).Min(0).Height(8).Span(8)
			for _, q := range p.queries {
				view.WithTarget(prometheus.NewDataqueryBuilder().Expr(q.expand()).LegendFormat(q.legend).Range())
			}
			builder.WithPanel(view)
		}
	}
	built, err := builder.Build()
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(built, "", "  ")
	return append(text, '\n'), err
}

// TestDashboardsIsCurrent compares the committed files with the tables.
func TestDashboardsIsCurrent(t *testing.T) {
	folder := filepath.Join(root, "deploy/grafana/dashboards")
	want := map[string]bool{}
	for _, b := range allBoards() {
		text, err := renderBoard(b)
		if err != nil {
			t.Fatalf("%s: %v", b.uid, err)
		}
		name := "quarry-" + b.uid + ".json"
		want[name] = true
		path := filepath.Join(folder, name)
		if os.Getenv("QUARRY_GENERATE") != "" {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s is not what the tables say (%v); run make generate", name, err)
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !want[f.Name()] {
			t.Errorf("%s belongs to no table; remove it", f.Name())
		}
	}
}
