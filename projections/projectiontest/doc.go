// Package projectiontest contains the conformance suite that every projection must pass,
// and a random world to test it with.
//
// It answers the question "is this projection a pure function of its records, does it survive
// a crash at any time, and does it report damaged rows?". The main types are World (a naive
// model of repositories that changes at random and writes the events that a worker would
// write), Log (an in-memory log), Applier (applies records one by one, like a Runner). Conform
// runs the suite.
//
// # Invariants
//
//  1. A World with the same seed writes the same records and objects.
//  2. Two stores are equal if all their rows are equal, including segments; rows of the
//     local family belong to one directory and are ignored.
//
// Only Log is safe for concurrent use. The package is for tests only.
package projectiontest
