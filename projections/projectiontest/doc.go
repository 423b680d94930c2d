// Package projectiontest holds the conformance suite that every projection
// passes, and the world it is tested in.
//
// It answers the question "is this projection a pure function of its records,
// and does it survive a crash at any moment?". The main types are World (a naive
// model of repositories that changes at random and writes the events a worker
// would), Log (the log in memory), Applier (applies records one by one, as a
// Runner does) and Conform, the suite.
//
// # Invariants
//
//  1. A World with the same seed writes the same records and objects.
//  2. Two stores are equal if all their rows are, segments included; rows of the
//     local family are facts of one directory and do not count.
//
// Nothing here is safe for concurrent use, but Log. The package is for tests
// only.
package projectiontest
