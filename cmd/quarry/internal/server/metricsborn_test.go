package server

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// unbornSeries lists counters and histograms whose series appear only with their first
// value, and the reason. increase() does not see the first value of such a series, so no
// alert may use one.
var unbornSeries = map[string]string{
	"quarry_api_request_duration_seconds": "every route with every status would be 10,000 series",
}

// wantedSeries returns the label values of each counter and histogram with labels that
// must exist on a server that has done nothing yet. Values are joined by commas, in the
// order of docs/metrics.md.
func wantedSeries() map[string][]string {
	results := splitWords("accepted duplicate ignored unavailable unauthenticated not_json invalid too_large slow aborted refused unknown_repository error")
	asks := joinLabels(splitWords("dev.quarry.push.v1 dev.quarry.repository.registered.v1 dev.quarry.repository.changed.v1 dev.quarry.repository.removed.v1 dev.quarry.erasure.requested.v1 dev.quarry.pins.changed.v1 unknown"), splitWords("handled dead skipped"))
	codes := []string{}
	for _, d := range failure.Codes() {
		codes = append(codes, string(d.Code))
	}
	actions := []string{"other"}
	for _, a := range audit.Actions {
		actions = append(actions, string(a))
	}
	tools := splitWords("search grep glob read_file list_tree list_repos find_symbol_definitions find_symbol_references find_implementations list_symbols list_commits get_commit get_diff get_blame list_branches list_language_models")
	kinds := splitWords("github gitlab gitea gerrit bitbucketServer bitbucketCloud genericGitHost azuredevops")
	requests := splitWords("ok not_modified")
	for _, code := range hostapi.Codes() {
		requests = append(requests, string(code))
	}
	stops := []string{"match limit", "time limit", "byte limit", "scan limit", "memory limit"}
	return map[string][]string{
		"quarry_webhook_deliveries_total":           append(append(joinLabels([]string{"github,hub"}, results), joinLabels([]string{"genericGitHost,ci"}, results)...), "unknown,unknown,unknown_connection"),
		"quarry_webhook_delivery_duration_seconds":  splitWords("github genericGitHost unknown"),
		"quarry_webhook_dropped_events_total":       splitWords("rate queue append"),
		"quarry_indexer_pushes_total":               splitWords("moved coalesced deleted refresh already_indexed not_selected unknown_repository"),
		"quarry_indexer_skipped_files_total":        splitWords("binary too_large undecodable symlink submodule lfs_pointer unreadable"),
		"quarry_indexer_symbol_failures_total":      splitWords("symbols_timeout symbols_limit symbols_failed"),
		"quarry_ctags_files_total":                  splitWords("complete timeout limit failed"),
		"quarry_ctags_restarts_total":               splitWords("crash timeout limit"),
		"quarry_embeddedlog_refused_appends_total":  splitWords("disk_full queue_full too_large"),
		"quarry_kafkalog_retries_total":             splitWords("produce fetch request group"),
		"quarry_kafkalog_producer_restarts_total":   {"given up", "out of order", "forgotten", "sequences used up"},
		"quarry_worker_records_total":               asks,
		"quarry_worker_handling_seconds":            splitWords("dev.quarry.push.v1 dev.quarry.repository.registered.v1 dev.quarry.repository.changed.v1 dev.quarry.repository.removed.v1 dev.quarry.erasure.requested.v1 dev.quarry.pins.changed.v1 unknown"),
		"quarry_mirror_fetch_seconds":               splitWords("full ref"),
		"quarry_mirror_fetch_failures_total":        codes,
		"quarry_compactor_merges_total":             splitWords("number dead quiet purge lost divide"),
		"quarry_compactor_failures_total":           splitWords("log store input refused"),
		"quarry_reconcile_looks_total":              splitWords("equal waiting reported suspect drift failed"),
		"quarry_discovery_requests_total":           joinLabels(kinds, requests),
		"quarry_permissions_reads_total":            joinLabels(splitWords("github gitlab gitea bitbucketServer bitbucketCloud"), append(splitWords("ok"), requests[2:]...)),
		"quarry_discovery_syncs_total":              joinLabels(kinds, splitWords("complete incomplete")),
		"quarry_pictures_loads_total":               splitWords("ok failed"),
		"quarry_discovery_events_total":             splitWords("registered changed removed"),
		"quarry_discovery_hints_total":              splitWords("confirmed absent unconfirmed failed given_up dropped"),
		"quarry_discovery_hint_events_total":        splitWords("changed removed"),
		"quarry_projections_records_total":          splitWords("applied duplicate poison passed"),
		"quarry_projections_replays_total":          splitWords("done failed canceled"),
		"quarry_snapshots_created_total":            splitWords("done failed"),
		"quarry_snapshots_loads_total":              splitWords("used skipped"),
		"quarry_places_broken_total":                splitWords("duplicate unregistered wrong_base merge_repeated merge_refused merge_of_other_partition segment_absent changes_absent"),
		"quarry_places_restored_segments_total":     splitWords("segment_store git"),
		"quarry_server_refused_connections_total":   splitWords("all address"),
		"quarry_server_rebuilt_stores_total":        splitWords("projections accounts"),
		"quarry_segmentstore_damaged_objects_total": splitWords("segment manifest"),
		"quarry_bucket_bytes_total":                 splitWords("upload download"),
		"quarry_bucket_request_duration_seconds":    splitWords("put fetch get delete list check quarantine"),
		"quarry_bucket_errors_total":                joinLabels(splitWords("put fetch get delete list check quarantine"), splitWords("unavailable")),
		"quarry_deadletters_resolved_total":         splitWords("replayed dropped superseded"),
		"quarry_store_written_bytes_total":          splitWords("wal flush compaction ingest"),
		"quarry_auth_refused_requests_total":        splitWords("missing malformed unknown expired inactive disagree"),
		"quarry_auth_sign_ins_total":                joinLabels(splitWords("password setup invitation reset oidc"), splitWords("started failed throttled unavailable unfinished")),
		"quarry_web_provider_failures_total":        joinLabels(splitWords("corporate"), splitWords("unavailable flow denied token email domain")),
		"quarry_traces_dropped_spans_total":         splitWords("queue_full failed rejected"),
		"quarry_precise_uploads_total":              splitWords("accepted refused failed"),
		"quarry_precise_lookups_total":              splitWords("exact carried none"),
		"quarry_source_git_seconds":                 splitWords("branches resolve file files directories log commit diff count authors blame last_changes content merge_base"),
		"quarry_source_refused_calls_total":         splitWords("reads walks"),
		"quarry_source_cache_requests_total":        joinLabels(splitWords("count authors blame last_changes"), splitWords("yes no")),
		"quarry_search_incomplete_total":            stops,
		"quarry_search_readings_total":              joinLabels(splitWords("code message trace"), splitWords("answered nothing")),
		"quarry_api_incomplete_searches_total":      append(slices.Clone(stops), "display limit", "server match limit", "missing documents", "behind the log", "not all was searched"),
		"quarry_api_limited_requests_total":         splitWords("rate streams"),
		"quarry_api_event_streams_total":            splitWords("end stopped slow_reader failed"),
		"quarry_api_position_waits_total":           splitWords("reached not_reached refused caller_refused canceled"),
		"quarry_live_notices_total":                 splitWords("searchable repository work delivery"),
		"quarry_live_positions_total":               splitWords("kept lost"),
		"quarry_mcp_call_duration_seconds":          joinLabels(tools, splitWords("answered failed")),
		"quarry_mcp_answer_bytes":                   tools,
		"quarry_audit_records_total":                actions,
		"quarry_accounts_refused_total":             nil, // projections/accounts defines the reasons; these are some of them
		"quarry_deliveries_outcomes_total":          nil, // projections/deliveries defines the outcomes; these are some of them
	}
}

func splitWords(s string) []string { return strings.Fields(s) }

// joinLabels joins each element of a with each element of b.
func joinLabels(a, b []string) []string {
	var all []string
	for _, x := range a {
		for _, y := range b {
			all = append(all, x+","+y)
		}
	}
	return all
}

// TestSeriesExistFromTheStart checks that series exist before their first value.
// increase() and rate() do not see a series grow that appears with its first value, so
// the first 503 of a process, which may be the only one, would reach no alert.
func TestSeriesExistFromTheStart(t *testing.T) {
	t.Parallel()
	registry := boot.NewRegistry("test")
	l := &listing{Registerer: registry, rows: map[string]metricRow{}}
	c := testConfig(t)
	secret := config.NewSecret("whsec_" + base64.StdEncoding.EncodeToString([]byte(pressureSecret)))
	c.Connections = []config.Connection{
		{Name: "hub", Kind: code.GitHub, URL: "https://github.com", Secrets: []config.Secret{config.NewSecret(pressureSecret)}},
		{Name: "ci", Kind: code.GenericGitHost, Secrets: []config.Secret{secret}},
	}
	c.Access.OIDC = []config.OIDC{{Name: "corporate", Issuer: "http://127.0.0.1:1", ClientID: "quarry", ClientSecret: config.NewSecret(pressureSecret)}}
	open(t, c, l, registry)
	kafkalog.NewMetrics(l)
	have := seriesOf(t, registry, l.rows)
	wanted := wantedSeries()
	for name, row := range l.rows {
		if row.kind != "counter" && row.kind != "histogram" || row.labels == "" {
			continue
		}
		want, listed := wanted[name]
		switch reason := unbornSeries[name]; {
		case reason != "":
			if len(have[name]) > 0 {
				t.Errorf("%s has series from the start: take it out of unbornSeries", name)
			}
		case !listed:
			t.Errorf("%s{%s}: list its series in wantedSeries, and make them at the start", name, row.labels)
		case want == nil:
			if len(have[name]) == 0 {
				t.Errorf("%s{%s} has no series at the start", name, row.labels)
			}
		default:
			slices.Sort(want)
			if got := slices.Sorted(slices.Values(have[name])); !slices.Equal(got, want) {
				t.Errorf("%s{%s} has at the start\n%s\nwant\n%s", name, row.labels, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	for name := range wanted {
		if _, ok := l.rows[name]; !ok && len(have[name]) == 0 {
			t.Errorf("%s is no metric", name)
		}
	}
}

// seriesOf returns the label values of each series, in the order of the vector.
func seriesOf(t *testing.T, g prometheus.Gatherer, rows map[string]metricRow) map[string][]string {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string][]string{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			values := map[string]string{}
			for _, l := range m.GetLabel() {
				values[l.GetName()] = l.GetValue()
			}
			order := strings.Split(rows[f.GetName()].labels, ",")
			if rows[f.GetName()].labels == "" {
				order = slices.Sorted(maps.Keys(values))
			}
			var in []string
			for _, name := range order {
				in = append(in, values[name])
			}
			series[f.GetName()] = append(series[f.GetName()], strings.Join(in, ","))
		}
	}
	return series
}
