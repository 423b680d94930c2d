// Package backbone measures the way from a web hook to an answer, on the embedded log and on real Kafka brokers.
//
// It answers: how fresh is what people find, how fast does a backlog go, and what does one push cost beside git itself?
//
// # Experiments
//
//	Freshness    pushes of one file to Linux at given rates, with gigabytes of other text indexed beside it and questions asked meanwhile;
//	             beside it zoekt's delta mode and its normal mode
//	Throughput   tens of thousands of pushes wait in the log, over many small repositories, and are drained; after that pushes one by one
//	             beside as many bare git fetch calls
//
// # How freshness is counted
//
// From the send of the signed web hook to the first answer over HTTP that has the push's own word; every commit adds a word and removes none, so a
// push that was indexed together with a later one is found from that moment on, and counts so. One question at a time asks for the oldest word that
// is missing, every pollEvery. The server's own histogram is read as well, as a second source: it counts revisions, not pushes.
//
// # Invariants
//
//  1. Every log starts from the same repositories, with a data directory of its own, which is removed afterwards.
//  2. Everything lies below Options.Work; every server and broker that is started is ended.
//  3. What cannot be run here is named in the report, not left out silently.
package backbone
