package dashboards

func indexBoard() board {
	return board{uid: "index", title: "Projections and segments", description: "How current and how large the index is, what merges and stores write, and what is damaged.", rows: []row{
		{"Projections", []panel{
			{title: "Lag", unit: "s", queries: []query{{"{{instance}} {{partition}}", "quarry_projections_lag_seconds{$i}"}}},
			{title: "Records", unit: "reqps", queries: []query{{"{{result}}", "sum by (result) (rate(quarry_projections_records_total{$i}[$r]))"}}},
			{title: "Apply and publish", unit: "s", queries: []query{
				{"apply p95", "histogram_quantile(0.95, sum by (le) (rate(quarry_projections_apply_seconds_bucket{$i}[$r])))"},
				{"publish p95", "histogram_quantile(0.95, sum by (le) (rate(quarry_projections_publish_seconds_bucket{$i}[$r])))"},
			}},
			{title: "State", queries: []query{{"caught up", "min(quarry_projections_caught_up{$i})"}, {"blocked", "sum(quarry_projections_blocked{$i})"}, {"replaying", "max(quarry_projections_replaying{$i})"}, {"frozen", "max(quarry_projections_frozen{$i})"}}},
			{title: "Versions on disk", unit: "bytes", queries: []query{{"{{version}}", "max by (version) (quarry_projections_version_bytes{$i})"}}},
			{title: "Event stream behind the log", queries: []query{{"{{instance}}", "quarry_live_lag_records{$i}"}}},
		}},
		{"Segments", []panel{
			{title: "Segments by tier", description: "Tier 0 is the smallest; the highest is not merged again.", queries: []query{{"{{tier}}", "sum by (tier) (quarry_compactor_segments{$i})"}}},
			{title: "Merges", queries: []query{{"{{reason}}", "sum by (reason) (increase(quarry_compactor_merges_total{$i}[$r]))"}}},
			{title: "Merge", unit: "s", queries: quantiles("quarry_compactor_merge_seconds")},
			{title: "Failed merges", queries: []query{{"{{reason}}", "sum by (reason) (increase(quarry_compactor_failures_total{$i}[$r]))"}}},
			{title: "Text", unit: "bytes", queries: []query{{"in segments", "max(quarry_places_text_bytes{$i})"}, {"live", "max(quarry_places_live_text_bytes{$i})"}, {"removed, on disk", "max(quarry_places_removed_text_bytes{$i})"}}},
			{title: "Documents", queries: []query{{"in segments", "max(quarry_places_documents{$i})"}, {"live", "max(quarry_places_live_documents{$i})"}}},
		}},
		{"Stores", []panel{
			{title: "Bytes written", unit: "Bps", queries: []query{{"{{by}}", "sum by (by) (rate(quarry_store_written_bytes_total{$i}[$r]))"}}},
			{title: "Read amplification", description: "Sorted runs that a read may touch.", queries: []query{{"{{instance}}", "quarry_store_read_amplification{$i}"}}},
			{title: "Compaction debt", unit: "bytes", queries: []query{{"{{instance}}", "quarry_store_compaction_debt_bytes{$i}"}}},
			{title: "Bucket, 95th percentile", unit: "s", queries: []query{{"{{operation}}", "histogram_quantile(0.95, sum by (le, operation) (rate(quarry_bucket_request_duration_seconds_bucket{$i}[$r])))"}}},
			{title: "Bucket, errors", queries: []query{{"{{operation}} {{reason}}", "sum by (operation, reason) (increase(quarry_bucket_errors_total{$i}[$r]))"}}},
			{title: "Bucket, bytes", unit: "Bps", queries: []query{{"{{direction}}", "sum by (direction) (rate(quarry_bucket_bytes_total{$i}[$r]))"}}},
		}},
		{"Damage", []panel{
			{title: "Missing", queries: []query{{"documents", "max(quarry_places_unheld_documents{$i})"}, {"refs", "max(quarry_places_broken_refs{$i})"}, {"not in the segment store", "max(quarry_projections_unstored_documents{$i})"}}},
			{title: "Damaged files", queries: []query{{"{{store}}", "max by (store) (quarry_scrub_damaged_files{$i})"}}},
			{title: "Restored", queries: []query{{"segments from {{from}}", "sum by (from) (increase(quarry_places_restored_segments_total{$i}[$r]))"}, {"mirrors", "sum(increase(quarry_mirror_resets_total{$i}[$r]))"}}},
			{title: "Disk free", unit: "bytes", queries: []query{{"{{directory}}", "min by (directory) (quarry_server_disk_free_bytes{$i})"}}},
		}},
	}}
}
