// Package pace limits how often callers may send requests.
//
// It answers the question "may this caller proceed now, and if not, when?". The main
// types are Table, which remembers the callers, and Limit, a rate and a burst.
//
// # Algorithm
//
// Pace uses the generic cell rate algorithm. It keeps one time per caller: the time at
// which the caller's past requests are paid back. A request moves that time forward by
// its cost. A request that would move it further ahead of the clock than the burst allows
// is refused and costs nothing.
//
// # Invariants
//
//  1. A table holds at most its bound of callers. It forgets the least recently seen
//     caller, who gains a full burst and nothing more.
//  2. A refusal contains a time after which the same request passes, if it is the
//     caller's only one.
//
// A Table is safe for concurrent use and starts no goroutine.
package pace
