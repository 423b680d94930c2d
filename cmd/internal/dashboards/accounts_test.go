package dashboards

func accountsBoard() board {
	return board{uid: "accounts", title: "Accounts and audit", description: "Who signs in, what is refused, whether permissions are current, and whether every action is recorded.", rows: []row{
		{"Accounts", []panel{
			{title: "Accounts", queries: []query{{"{{kind}}", "max by (kind) (quarry_accounts_held{$i})"}}},
			{title: "Sign-ins", unit: "reqps", queries: []query{{"{{method}} {{outcome}}", "sum by (method, outcome) (rate(quarry_auth_sign_ins_total{$i}[$r]))"}}},
			{title: "Refused credentials", unit: "reqps", queries: []query{{"{{reason}}", "sum by (reason) (rate(quarry_auth_refused_requests_total{$i}[$r]))"}}},
			{title: "Throttled attempts", unit: "reqps", queries: []query{{"{{instance}}", "rate(quarry_auth_throttled_attempts_total{$i}[$r])"}}},
			{title: "Passwords hashed", unit: "reqps", queries: []query{{"hashed", "sum(rate(quarry_auth_password_hashings_total{$i}[$r]))"}, {"refused", "sum(rate(quarry_auth_refused_password_hashings_total{$i}[$r]))"}}},
			{title: "Behind the log", unit: "s", description: "A process behind may accept keys that were revoked elsewhere.", queries: []query{{"{{instance}} {{topic}}", "quarry_accounts_lag_seconds{$i}"}}},
		}},
		{"Permissions of code hosts", []panel{
			{title: "Age of the oldest permissions", unit: "s", absent: "it has no connections", queries: []query{{"{{connection}}", "time() - max by (connection) (quarry_permissions_oldest_read_timestamp_seconds{$i} > 0)"}}},
			{title: "Repositories whose permissions fail", absent: "it has no connections", queries: []query{{"{{connection}}", "max by (connection) (quarry_permissions_failing_repositories{$i})"}}},
			{title: "Requests to code hosts", unit: "reqps", queries: []query{{"{{kind}} {{result}}", "sum by (kind, result) (rate(quarry_discovery_requests_total{$i}[$r]))"}}},
			{title: "Repositories found", absent: "it has no connections", queries: []query{{"{{connection}}", "max by (connection) (quarry_discovery_repositories{$i})"}}},
			{title: "Issues of the last sync", absent: "it has no connections", queries: []query{{"{{connection}}", "max by (connection) (quarry_discovery_issues{$i})"}}},
			{title: "Last delivery", unit: "dateTimeFromNow", absent: "it has no connections", queries: []query{{"{{connection}}", "max by (connection) (quarry_connection_last_delivery_timestamp_seconds{$i} > 0) * 1000"}}},
		}},
		{"Audit log", []panel{
			{title: "Records", unit: "reqps", queries: []query{{"{{action}}", "topk(10, sum by (action) (rate(quarry_audit_records_total{$i}[$r])))"}}},
			{title: "Queue", unit: "bytes", description: "Requests are refused at audit.queueBytes.", queries: []query{{"{{instance}}", "quarry_audit_queue_bytes{$i}"}}},
			{title: "Oldest record in the queue", unit: "s", queries: []query{{"{{instance}}", "quarry_audit_queue_oldest_seconds{$i}"}}},
			{title: "Lost and refused", queries: []query{{"lost", "sum(increase(quarry_audit_lost_total{$i}[$r]))"}, {"refused", "sum(increase(quarry_audit_refused_total{$i}[$r]))"}, {"changes without an entry", "sum(increase(quarry_api_unrecorded_changes_total{$i}[$r]))"}}},
			{title: "Time since the last seal", unit: "s", absent: "it has not sealed its first entries yet", queries: []query{{"", "time() - max(quarry_audit_sealed_timestamp_seconds{$i} > 0)"}}},
			{title: "Entries", queries: []query{{"{{topic}}", "max by (topic) (quarry_audit_entries{$i})"}}},
		}},
	}}
}
