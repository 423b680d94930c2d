// Package dashboards generates the Grafana dashboards in deploy/grafana and tests their
// queries.
//
// It answers the question "which panels are there, and does each of them show something?".
// The panels are tables of this package (overview_test.go, pushes_test.go, …);
// TestDashboardsIsCurrent compares the committed files with them, and make generate writes
// them. TestPanelsOnARealServer runs the query of every panel in a Prometheus that scraped
// a server.
//
// # Invariants
//
//  1. Every query names metrics of docs/metrics.md, of the Go client of Prometheus, or
//     rules of deploy/prometheus/slo.yml.
//  2. Every panel has data for a server that runs all roles in one process, or says in
//     absent why not.
//  3. The files have no IDs of an installation: the data source is a variable.
package dashboards
