// Package kafkatest gives real Apache Kafka brokers to tests.
//
// It answers the question "how does a test get brokers?". StartCluster makes a
// cluster, Start a single broker; they are stopped at the end of the test. What
// fails fails the test.
//
// Main types: Cluster, with Stop, Kill and Restart of single nodes; Broker, a
// cluster of one. How they run is package brokers' business.
//
// Without Java or the brokers' jars, which `make kafka` fetches, the test is
// skipped by name, or fails if QUARRY_REQUIRE_ALL=1.
//
// A Cluster is used by one goroutine at a time.
package kafkatest
