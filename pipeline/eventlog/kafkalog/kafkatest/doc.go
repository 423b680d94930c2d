// Package kafkatest provides real Apache Kafka brokers for tests.
//
// It answers the question "how does a test get brokers?". StartCluster starts a cluster,
// Start a single broker; they are stopped at the end of the test. Failures fail the test.
//
// Main types: Cluster, with Stop, Kill and Restart of single nodes; Broker, a cluster
// with one node. Package brokers runs the processes.
//
// Without Java or the brokers' jars, which `make kafka` downloads, the test is skipped,
// or fails if QUARRY_REQUIRE_ALL=1.
//
// A Cluster must be used by one goroutine at a time.
package kafkatest
