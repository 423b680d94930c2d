// Package brokers runs real Apache Kafka brokers, for tests and for programs that
// measure or break things.
//
// It answers the question "where does a program get a cluster?". Start runs one in
// KRaft mode. Each node is a broker and a controller, and a child process with its
// own directory and its own ports on the loopback interface.
//
// Main types: Options; Cluster, with Kill, Stop and Restart of single nodes.
// Tests use kafkatest, which fails and skips as tests do.
//
// The jars are given by a directory; Find looks where `make kafka` and `.ci/run`
// put them. Nothing is fetched here.
//
// # Invariants
//
//  1. A broker does not outlive this process, even if it is killed: a shell keeps
//     the broker and ends it when its standard input closes.
//  2. With three nodes or more every topic, the brokers' own included, has three
//     copies, and two must have a record before it is acknowledged. With fewer
//     nodes there is one copy.
//  3. A node keeps its ports and its data from Kill or Stop to Restart.
//
// A Cluster is used by one goroutine at a time.
package brokers
