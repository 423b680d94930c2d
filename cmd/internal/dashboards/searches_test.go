package dashboards

func searchesBoard() board {
	return board{uid: "searches", title: "Searches", description: "How fast answers are, what they cost, and which are refused or incomplete.", rows: []row{
		{"Answers", []panel{
			{title: "Searches", unit: "reqps", queries: []query{{"{{instance}}", "rate(quarry_search_duration_seconds_count{$i}[$r])"}}},
			{title: "Duration", unit: "s", queries: quantiles("quarry_search_duration_seconds")},
			{title: "Wait for a slot", unit: "s", queries: quantiles("quarry_search_wait_seconds")},
			{title: "Incomplete", description: "Searches that did not read all candidates.", unit: "reqps", queries: []query{{"{{reason}}", "sum by (reason) (rate(quarry_search_incomplete_total{$i}[$r]))"}}},
			{title: "Refused and demoted", unit: "reqps", queries: []query{{"refused", "sum(rate(quarry_search_refusals_total{$i}[$r]))"}, {"heavy", "sum(rate(quarry_search_demotions_total{$i}[$r]))"}}},
			{title: "Running and waiting", queries: []query{{"{{class}} running", "sum by (class) (quarry_search_running{$i})"}, {"{{class}} waiting", "sum by (class) (quarry_search_waiting{$i})"}}},
		}},
		{"Cost", []panel{
			{title: "Text read for each search", unit: "bytes", queries: []query{{"scanned", "sum(rate(quarry_search_scanned_bytes_total{$i}[$r])) / sum(rate(quarry_search_duration_seconds_count{$i}[$r]))"}, {"decompressed", "sum(rate(quarry_search_content_bytes_total{$i}[$r])) / sum(rate(quarry_search_duration_seconds_count{$i}[$r]))"}}},
			{title: "Files read for each search", queries: []query{{"", "sum(rate(quarry_search_files_loaded_total{$i}[$r])) / sum(rate(quarry_search_duration_seconds_count{$i}[$r]))"}}},
			{title: "Memory of searches", unit: "bytes", queries: []query{{"{{instance}}", "quarry_search_memory_bytes{$i}"}}},
			{title: "Cache of text", unit: "percentunit", description: "Share of frames found in the cache.", queries: []query{{"{{instance}}", "rate(quarry_segment_frames_hits_total{$i}[$r]) / (rate(quarry_segment_frames_hits_total{$i}[$r]) + rate(quarry_segment_frames_misses_total{$i}[$r]))"}}},
			{title: "Cache of blocks", unit: "percentunit", queries: []query{{"{{instance}}", "rate(quarry_store_cache_hits_total{$i}[$r]) / (rate(quarry_store_cache_hits_total{$i}[$r]) + rate(quarry_store_cache_misses_total{$i}[$r]))"}}},
			{title: "Segments that a search visits", queries: []query{{"{{instance}}", "quarry_places_segments{$i}"}}},
		}},
		{"Requests", []panel{
			{title: "By route", unit: "reqps", queries: []query{{"{{route}}", "topk(10, sum by (route) (rate(quarry_api_request_duration_seconds_count{$i}[$r])))"}}},
			{title: "95th percentile by route", unit: "s", queries: []query{{"{{route}}", "histogram_quantile(0.95, sum by (le, route) (rate(quarry_api_request_duration_seconds_bucket{$i}[$r])))"}}},
			{title: "Errors of the server", unit: "reqps", queries: []query{{"{{route}}", `sum by (route) (rate(quarry_api_request_duration_seconds_count{status=~"5..",$i}[$r])) or 0 * sum(rate(quarry_api_request_duration_seconds_count{$i}[$r]))`}}},
			{title: "Limited", unit: "reqps", queries: []query{{"{{limit}}", "sum by (limit) (rate(quarry_api_limited_requests_total{$i}[$r]))"}}},
			{title: "Streams", queries: []query{{"answers", "sum(quarry_api_open_streams{$i})"}, {"events", "sum(quarry_api_open_event_streams{$i})"}}},
			{title: "Tools of agents", unit: "reqps", queries: []query{{"{{tool}}", "sum by (tool) (rate(quarry_mcp_call_duration_seconds_count{$i}[$r]))"}}},
		}},
		{"Git and files", []panel{
			{title: "Calls of git", unit: "s", queries: []query{{"{{operation}} p95", "histogram_quantile(0.95, sum by (le, operation) (rate(quarry_source_git_seconds_bucket{$i}[$r])))"}}},
			{title: "Calls running and waiting", queries: []query{{"{{pool}} running", "sum by (pool) (quarry_source_running_calls{$i})"}, {"{{pool}} waiting", "sum by (pool) (quarry_source_waiting_calls{$i})"}}},
			{title: "Files answered from the index", unit: "reqps", queries: []query{{"{{instance}}", "rate(quarry_source_indexed_answers_total{$i}[$r])"}}},
		}},
	}}
}
