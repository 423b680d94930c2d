// Package brokers runs real Apache Kafka brokers, for tests and for programs that measure
// performance or inject failures.
//
// It answers the question "where does a program get a cluster?". Start runs one in KRaft
// mode. Each node is a broker and a controller, in a child process with its own directory
// and its own ports on the loopback interface.
//
// Main types: Options; Cluster, with Kill, Stop and Restart of single nodes. Tests use
// package kafkatest, which reports failures and skips to the test.
//
// The caller passes the directory of the jars; Find searches where `make kafka` and
// `.ci/run` put them. This package downloads nothing.
//
// Starting a broker is mostly CPU time of Java, so the first Start writes a class archive
// next to the directory of the jars (archive.go), and the checkpoint of a formatted storage
// for each set of users (format.go).
//
// # Invariants
//
//  1. A broker does not outlive this process, even if the process is killed: a shell
//     runs the broker and ends it when its standard input closes.
//  2. With three nodes or more, every topic, including internal ones, has three
//     replicas, and two must have a record before it is acknowledged. With fewer
//     nodes there is one replica.
//  3. A node keeps its ports and its data from Kill or Stop to Restart.
//
// A Cluster must be used by one goroutine at a time.
package brokers
