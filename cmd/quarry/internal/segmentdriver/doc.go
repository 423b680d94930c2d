// Package segmentdriver opens the segment store that the settings choose.
//
// It answers the question "is the store a directory or a bucket, and how is it reached?".
//
// # Invariants
//
//  1. Nothing outside this package depends on which driver the store has, except for the
//     scrub, which reads only a directory: object storage checks its own disks.
//
// # Concurrency
//
// Open may be called at any time. A store needs no Close.
//
// This package does not know what the store is used for.
package segmentdriver
