// Package deploytest tests the files below deploy: the unit of systemd, the packages for
// Debian and RPM, and the Helm chart.
//
// It answers the question "does what operators install do what it says?". The tests run
// the programs that operators use: systemd-analyze, dpkg, rpm and helm. Without a
// program, a test is skipped by name, or fails if QUARRY_REQUIRE_ALL=1. The container
// image is tested by cmd/internal/image, rules and alerts by cmd/internal/docscheck and
// dashboards by cmd/internal/dashboards.
//
// # Invariants
//
//  1. Nothing is installed on the machine: packages go to a scratch root.
//  2. Nothing is started, and no cluster is needed.
package deploytest
