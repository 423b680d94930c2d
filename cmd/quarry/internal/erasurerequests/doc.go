// Package erasurerequests requests erasures and shows how far they are.
//
// It answers the question "may this be erased now, and how far is it?".
// cmd/quarry/internal/erasure carries them out.
//
// # Invariants
//
//  1. What a branch or tag leads to is not erased: it would come back with the next push.
//  2. Nothing is erased while the projections show a moment of the past, nor where no
//     segment is ever rewritten.
//  3. A request is in the log before it is answered.
//
// # Concurrency
//
// Erasures is safe for concurrent use and starts nothing.
//
// It does not decide who may erase: query/api does.
package erasurerequests
