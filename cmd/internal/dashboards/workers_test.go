package dashboards

const noKafka = "its log is embedded"

func workersBoard() board {
	return board{uid: "workers", title: "Log and workers", description: "What waits in the log, what the workers do, and how the log or Kafka answers.", rows: []row{
		{"Workers", []panel{
			{title: "Lag", description: "Records that are not finished.", queries: []query{{"{{partition}}", "max by (partition) (quarry_worker_lag_records{$i})"}}},
			{title: "Oldest unfinished record", unit: "s", queries: []query{{"{{partition}}", "max by (partition) (quarry_worker_oldest_seconds{$i})"}}},
			{title: "Records", unit: "reqps", queries: []query{{"{{result}}", "sum by (result) (rate(quarry_worker_records_total{$i}[$r]))"}}},
			{title: "Handling", unit: "s", queries: []query{{"{{type}} p95", "histogram_quantile(0.95, sum by (le, type) (rate(quarry_worker_handling_seconds_bucket{$i}[$r])))"}}},
			{title: "Repositories in work", queries: []query{{"running", "sum(quarry_worker_running_lanes{$i})"}, {"hanging", "sum(quarry_worker_hanging_lanes{$i})"}}},
			{title: "Paused", description: "1 while workers start no new record.", queries: []query{{"{{reason}}", "max by (reason) (quarry_worker_paused{$i})"}}},
			{title: "Longest handling", unit: "s", queries: []query{{"{{instance}}", "quarry_worker_longest_handling_seconds{$i}"}}},
			{title: "Retries", unit: "reqps", queries: []query{{"{{instance}}", "rate(quarry_worker_retries_total{$i}[$r])"}}},
			{title: "Reading paused", description: "1 while a partition waits for one repository.", queries: []query{{"{{partition}}", "max by (partition) (quarry_worker_window_full{$i})"}}},
		}},
		{"Embedded log", []panel{
			{title: "Records", unit: "reqps", queries: []query{{"appended", "sum(rate(quarry_embeddedlog_appended_records_total{$i}[$r]))"}, {"read", "sum(rate(quarry_embeddedlog_read_records_total{$i}[$r]))"}}},
			{title: "Write and sync", unit: "s", queries: quantiles("quarry_embeddedlog_sync_seconds")},
			{title: "Disk", unit: "bytes", queries: []query{{"{{instance}}", "quarry_embeddedlog_disk_bytes{$i}"}}},
		}},
		{"Kafka", []panel{
			{title: "Records", unit: "reqps", absent: noKafka, queries: []query{{"acknowledged", "sum(rate(quarry_kafkalog_appended_records_total{$i}[$r]))"}, {"fetched", "sum(rate(quarry_kafkalog_read_records_total{$i}[$r]))"}}},
			{title: "Produce", unit: "s", absent: noKafka, queries: quantiles("quarry_kafkalog_produce_seconds")},
			{title: "Retries", unit: "reqps", absent: noKafka, queries: []query{{"{{operation}}", "sum by (operation) (rate(quarry_kafkalog_retries_total{$i}[$r]))"}}},
			{title: "Producers restarted", description: "out of order: the leader lacks records that it had acknowledged.", absent: noKafka, queries: []query{{"{{reason}}", "sum by (reason) (increase(quarry_kafkalog_producer_restarts_total{$i}[$r]))"}}},
			{title: "Generations of groups", description: "Each step is a rebalance that a worker took part in.", absent: noKafka, queries: []query{{"{{instance}}", "increase(quarry_kafkalog_generations_total{$i}[$r])"}}},
			{title: "Position not recorded", queries: []query{{"{{instance}}", "increase(quarry_server_position_failures_total{$i}[$r])"}}},
		}},
	}}
}
