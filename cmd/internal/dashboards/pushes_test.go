package dashboards

func pushesBoard() board {
	return board{uid: "pushes", title: "The way of a push", description: "From the webhook to the search: where pushes wait, and where they are lost.", rows: []row{
		{"Webhooks", []panel{
			{title: "Deliveries", unit: "reqps", absent: "it has no connections, and a server counts deliveries by connection", queries: []query{{"{{connection}} {{result}}", `sum by (connection, result) (rate(quarry_webhook_deliveries_total{connection!="unknown",$i}[$r]))`}}},
			{title: "Deliveries to unknown connections", unit: "reqps", queries: []query{{"{{result}}", `sum by (result) (rate(quarry_webhook_deliveries_total{connection="unknown",$i}[$r]))`}}},
			{title: "Append to the log", unit: "s", queries: quantiles("quarry_webhook_append_duration_seconds")},
			{title: "Events dropped", queries: []query{{"{{reason}}", "sum by (reason) (increase(quarry_webhook_dropped_events_total{$i}[$r]))"}}},
			{title: "Backlog", description: "Above ingest.maxBacklog, webhooks are answered with 503.", queries: []query{{"{{instance}}", "quarry_server_backlog_records{$i}"}}},
			{title: "Hints read from hosts", queries: []query{{"{{result}}", "sum by (result) (increase(quarry_discovery_hints_total{$i}[$r]))"}}},
		}},
		{"Git", []panel{
			{title: "Fetch", unit: "s", queries: []query{
				{"{{kind}} p50", "histogram_quantile(0.5, sum by (le, kind) (rate(quarry_mirror_fetch_seconds_bucket{$i}[$r])))"},
				{"{{kind}} p95", "histogram_quantile(0.95, sum by (le, kind) (rate(quarry_mirror_fetch_seconds_bucket{$i}[$r])))"},
			}},
			{title: "Failed fetches", queries: []query{{"{{reason}}", "sum by (reason) (increase(quarry_mirror_fetch_failures_total{$i}[$r])) > 0 or sum(increase(quarry_mirror_fetch_failures_total{$i}[$r]))"}}},
			{title: "Fetched", unit: "Bps", queries: []query{{"{{instance}}", "rate(quarry_mirror_fetched_bytes_total{$i}[$r])"}}},
		}},
		{"Indexing", []panel{
			{title: "Pushes handled", unit: "reqps", queries: []query{{"{{result}}", "sum by (result) (rate(quarry_indexer_pushes_total{$i}[$r]))"}}},
			{title: "Revision", unit: "s", description: "From the fetch of a commit to its event.", queries: quantiles("quarry_indexer_revision_seconds")},
			{title: "Text indexed", unit: "Bps", queries: []query{{"{{instance}}", "rate(quarry_indexer_text_bytes_total{$i}[$r])"}}},
			{title: "Blobs", unit: "reqps", description: "Known blobs are in a live segment already and cost nothing.", queries: []query{{"read", "sum(rate(quarry_indexer_read_blobs_total{$i}[$r]))"}, {"known", "sum(rate(quarry_indexer_known_blobs_total{$i}[$r]))"}}},
			{title: "Files skipped", unit: "reqps", queries: []query{{"{{reason}}", "sum by (reason) (rate(quarry_indexer_skipped_files_total{$i}[$r]))"}}},
			{title: "Outcomes", unit: "reqps", queries: []query{{"{{outcome}}", "sum by (outcome) (rate(quarry_deliveries_outcomes_total{$i}[$r]))"}}},
		}},
		{"Lost and found", []panel{
			{title: "Drift", description: "Pushes that no webhook announced. Any value means that deliveries are being lost.", queries: []query{{"{{instance}}", "increase(quarry_reconcile_drift_total{$i}[$r])"}}},
			{title: "Checks of repositories", unit: "reqps", queries: []query{{"{{result}}", "sum by (result) (rate(quarry_reconcile_looks_total{$i}[$r]))"}}},
			{title: "Checks overdue", unit: "s", queries: []query{{"{{instance}}", "quarry_reconcile_overdue_seconds{$i}"}}},
			{title: "Push to searchable", unit: "s", queries: quantiles("quarry_push_to_searchable_seconds")},
			{title: "Dead letters", queries: []query{{"{{stage}}", "max by (stage) (quarry_deadletters_open{$i})"}}},
			{title: "Age of the oldest dead letter", unit: "s", queries: []query{{"", "max(quarry_deadletters_oldest_age_seconds{$i})"}}},
		}},
	}}
}
