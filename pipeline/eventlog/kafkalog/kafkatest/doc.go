// Package kafkatest runs real Apache Kafka brokers for tests.
//
// It answers the question "how does a test get brokers?". StartCluster makes a
// cluster in KRaft mode, each node a broker and a controller and a child process
// with a directory and ports of its own on loopback; Start makes a single broker.
// They are stopped at the end of the test.
//
// Main types: Cluster, with Stop, Kill and Restart of single nodes; Broker, a
// cluster of one.
//
// The jars come from QUARRY_KAFKA_LIBS or .cache/kafka/libs at the root of the
// repository, where `make kafka` puts them; nothing is fetched here. Without them
// or without Java the test is skipped by name, or fails if QUARRY_REQUIRE_ALL=1.
//
// # Invariants
//
//  1. A broker does not outlive the test process, even if that is killed.
//  2. With three nodes or more every topic, the brokers' own included, has three
//     copies, and two must have a record before it is acknowledged. With fewer
//     nodes there is one copy.
//  3. A node keeps its ports and its data from Kill or Stop to Restart.
//
// A Cluster is used by one goroutine at a time.
package kafkatest
