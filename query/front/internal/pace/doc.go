// Package pace limits how often callers may send requests.
//
// It answers the question "may this caller go on now, and if not, when?". The main
// types are Table (who came when) and Limit (how often is fine).
//
// # Algorithm
//
// The generic cell rate algorithm: of each caller one time is kept, at which what
// was taken so far has been paid back. A request moves it on by its cost; one that
// would move it further ahead of the clock than the burst allows is refused and
// costs nothing.
//
// # Invariants
//
//  1. A table holds at most its bound of callers: the one that came least recently
//     is forgotten, which gives that one a full burst and nothing more.
//  2. A refusal contains a time after which the same request passes, if it is the
//     caller's only one.
//
// A Table is safe for concurrent use, and starts no goroutine.
package pace
