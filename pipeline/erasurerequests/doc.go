// Package erasurerequests requests erasures and shows their progress.
//
// It answers the question "may this be erased now, and what is its progress?".
// projections/erasure carries them out.
//
// # Invariants
//
//  1. What a branch or tag reaches is not erased, because the next push would bring it
//     back.
//  2. Nothing is erased while the projections show the past, or if no process rewrites
//     segments.
//  3. A request is in the log before it is answered.
//
// # Concurrency
//
// Erasures is safe for concurrent use and starts no goroutine.
//
// This package does not decide who may erase: query/api does.
package erasurerequests
