// Package kafkatest runs a real Apache Kafka broker for tests.
//
// It answers the question "how does a test get a broker?". Start makes a broker
// in KRaft mode as a child process, with a directory and ports of its own on
// loopback, and stops it at the end of the test.
//
// Main type: Broker, with Stop, Kill and Restart.
//
// The jars come from QUARRY_KAFKA_LIBS or .cache/kafka/libs at the root of the
// repository, where `make kafka` puts them; nothing is fetched here. Without them
// or without Java the test is skipped by name, or fails if QUARRY_REQUIRE_ALL=1.
//
// A broker does not outlive the test process, even if that is killed.
package kafkatest
