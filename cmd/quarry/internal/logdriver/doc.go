// Package logdriver opens the event log that the settings choose.
//
// It answers the question "which log is it, and how is it reached?".
//
// # Files
//
//	logdriver.go  Open, for a server: the embedded log or Kafka
//	kafka.go      the settings of log.kafka as kafkalog.Options
//	offline.go    what commands read of a log while no server runs
//
// # Invariants
//
//  1. Nothing outside this package depends on which driver the log has.
//  2. What reads a log offline holds the data directory of an embedded log meanwhile, and
//     changes nothing on brokers but missing topics, if asked.
//
// # Concurrency
//
// Its functions may be called at any time; the caller closes the log.
//
// It does not know what the log is used for.
package logdriver
