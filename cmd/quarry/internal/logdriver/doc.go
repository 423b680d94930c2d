// Package logdriver opens the event log that the settings choose.
//
// It answers the question "which log is it, and how is it reached?".
//
// # Files
//
//	logdriver.go  Open, for a server: the embedded log or Kafka
//	kafka.go      the settings of log.kafka as kafkalog.Options
//	offline.go    reads of a log by commands while no server runs
//	copy.go       Copy and Repartition, from one log to another
//
// # Invariants
//
//  1. Nothing outside this package depends on which driver the log has.
//  2. An offline read locks the data directory of an embedded log. On brokers it changes
//     nothing, but creates missing topics on request. Only Copy and Repartition write to
//     their target.
//
// # Concurrency
//
// Its functions may be called at any time; the caller must close the log.
//
// This package does not know what the log is used for.
package logdriver
