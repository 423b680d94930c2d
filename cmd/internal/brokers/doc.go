// Package brokers runs real Apache Kafka brokers for programs that measure or
// break things.
//
// It answers the question "where does a program that is no test get a cluster?".
// Start makes one broker, or three that hold every record three times and
// acknowledge it once two have it, in KRaft mode, as child processes on loopback
// ports of their own.
//
// Main types: Cluster, with Kill, Stop and Restart of one broker at a time.
//
// The jars are given by a directory; Libs finds it where `make kafka` and
// `.ci/run` put them. Nothing is fetched here. Tests of the driver use kafkatest,
// which skips and fails as tests do.
//
// A broker does not outlive this process, even if it is killed: a shell keeps the
// broker and ends it when its standard input closes. A Cluster is used by one
// goroutine at a time.
package brokers
