package dashboards

func overviewBoard() board {
	return board{uid: "overview", title: "Overview", description: "Is it up, fresh, fast, and does anything wait?", rows: []row{
		{"Now", []panel{
			{title: "Targets up", stat: true, queries: []query{{"", `sum(up{job="quarry",$i})`}}},
			{title: "Repositories", stat: true, queries: []query{{"", "max(quarry_catalog_repositories{$i})"}}},
			{title: "Text in the index", unit: "bytes", stat: true, queries: []query{{"", "max(quarry_places_live_text_bytes{$i})"}}},
			{title: "Open dead letters", stat: true, description: "Records that were given up: quarry dlq lists them.", queries: []query{{"", "max(sum by (instance) (quarry_deadletters_open{$i}))"}}},
			{title: "Index behind the log", unit: "s", stat: true, queries: []query{{"", "max(quarry_projections_lag_seconds{$i})"}}},
			{title: "Pushes without an outcome", stat: true, queries: []query{{"", "max(quarry_deliveries_waiting{$i})"}}},
			{title: "Documents missing", stat: true, description: "Documents that were lost and are re-indexed.", queries: []query{{"", "max(quarry_places_unheld_documents{$i})"}}},
			{title: "Least free disk", unit: "percentunit", stat: true, queries: []query{{"", "min(quarry_server_disk_free_bytes{$i} / quarry_server_disk_size_bytes{$i})"}}},
		}},
		{"Objectives, over 30 days", []panel{
			{title: "Freshness: pushes searchable within a minute", unit: "percentunit", stat: true, queries: []query{{"", "1 - quarry:freshness_errors:ratio_30d"}}},
			{title: "Availability: requests without an error of the server", unit: "percentunit", stat: true, queries: []query{{"", "1 - quarry:availability_errors:ratio_30d"}}},
			{title: "Latency: searches within a second", unit: "percentunit", stat: true, queries: []query{{"", "1 - quarry:latency_errors:ratio_30d"}}},
			{title: "Failed share", unit: "percentunit", description: "The share of the last hour that missed each objective.", queries: []query{
				{"freshness", "quarry:freshness_errors:ratio_1h"}, {"availability", "quarry:availability_errors:ratio_1h"}, {"latency", "quarry:latency_errors:ratio_1h"},
			}},
		}},
		{"Work", []panel{
			{title: "Push to searchable", unit: "s", queries: quantiles("quarry_push_to_searchable_seconds")},
			{title: "Searches", unit: "s", queries: quantiles("quarry_search_duration_seconds")},
			{title: "Requests", unit: "reqps", queries: []query{{"{{status}}", "sum by (status) (rate(quarry_api_request_duration_seconds_count{$i}[$r]))"}}},
		}},
		{"Process", []panel{
			{title: "Processor", unit: "none", description: "Processors in use, without git.", queries: []query{{"{{instance}}", `rate(process_cpu_seconds_total{job="quarry",$i}[$r])`}}},
			{title: "Memory", unit: "bytes", queries: []query{{"{{instance}} resident", `process_resident_memory_bytes{job="quarry",$i}`}, {"{{instance}} Go heap", `go_memstats_heap_inuse_bytes{job="quarry",$i}`}}},
			{title: "Disk in use", unit: "bytes", description: "data includes its subdirectories.", queries: []query{{"{{directory}}", "max by (directory) (quarry_server_disk_used_bytes{$i})"}}},
			{title: "Starts", description: "Each step is a start of the process.", unit: "dateTimeFromNow", queries: []query{{"{{instance}}", `process_start_time_seconds{job="quarry",$i} * 1000`}}},
			{title: "Open files", queries: []query{{"{{instance}}", `process_open_fds{job="quarry",$i}`}, {"{{instance}} limit", `process_max_fds{job="quarry",$i}`}}},
			{title: "Connections", queries: []query{{"{{instance}}", "quarry_server_open_connections{$i}"}, {"refused: {{limit}}", "sum by (limit) (rate(quarry_server_refused_connections_total{$i}[$r]))"}}},
		}},
	}}
}
