// Package backbone measures the path from a webhook to a search result, on the embedded
// log and on real Kafka brokers.
//
// It answers: how fresh are search results, how fast is a backlog processed, and what
// does one push cost in addition to git itself?
//
// # Experiments
//
//	Freshness    pushes of one file to Linux at given rates, while gigabytes of other text are indexed and queries are sent
//	Throughput   tens of thousands of pushes wait in the log, over many small repositories, and are drained; after that pushes one by one,
//	             compared with as many bare git fetch calls
//
//	Fanout       random queries to one process, and to fronts with shards of the same text
//
//	Branches     60 branches of one repository, compared with zoekt-git-index -branches, which accepts at most 64; 237, compared with one
//	             branch that has the distinct text of all of them; three clones of that under three names; 3,000 branches
//
// The branches are spread evenly over the history of published versions of one package
// (corpus.Repository.Steps). Programs and experiments take turns, and the median run of
// each counts. Dropped documents are counted after the merges have ended.
//
// # How freshness is measured
//
// The time runs from the sending of the signed webhook to the first HTTP response with
// the push's unique word. Every commit adds a word and removes none, so a push that was
// indexed together with a later one is found from that moment on, and is counted
// accordingly. One query at a time searches for the oldest missing word, every pollEvery.
// The server's histogram is a second source: it counts revisions, not pushes.
//
// # Invariants
//
//  1. Every log starts with the same repositories and a new data directory, which is removed afterwards.
//  2. Everything is below Options.Work; every started server and broker is ended.
//  3. The report names everything that cannot be run here.
package backbone
