// Package backbone measures the path from a webhook to an answer, on the embedded log and on real Kafka brokers.
//
// It answers: how fresh are search results, how fast is a backlog processed, and what does one push cost in addition to git itself?
//
// # Experiments
//
//	Freshness    pushes of one file to Linux at given rates, with gigabytes of other text indexed and queries sent meanwhile;
//	             for comparison zoekt's delta mode and its normal mode
//	Throughput   tens of thousands of pushes wait in the log, over many small repositories, and are drained; after that pushes one by one,
//	             compared with as many bare git fetch calls
//
// # How freshness is counted
//
// From the send of the signed webhook to the first answer over HTTP that contains the push's own word. Every commit adds a word and removes none,
// so a push that was indexed together with a later one is found from that moment on, and counts so. One query at a time searches for the oldest
// missing word, every pollEvery. The server's own histogram is read as well, as a second source: it counts revisions, not pushes.
//
// # Invariants
//
//  1. Every log starts from the same repositories, with a new data directory, which is removed afterwards.
//  2. Everything is below Options.Work; every server and broker that is started is ended.
//  3. What cannot be run here is named in the report, not left out silently.
package backbone
