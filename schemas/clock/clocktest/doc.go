// Package clocktest lets tests wait, and compare costs, on machines of any speed.
//
// It answers the question "how does a test end if the code hangs, and fail if the code
// has become expensive, but pass on a machine that is merely busy?".
//
//	NewContext   a context that ends just before go test's -timeout does
//	WaitUntil    polls for a state, until the same moment
//	CheckLinear  compares the processor time of two sizes of an input
//	Listener     connections in memory, for servers in a bubble of testing/synctest
//
// Where all goroutines of a test can run in a bubble, testing/synctest is better.
//
// # Invariants
//
//  1. No function fails because a fixed time has passed: only -timeout, which whoever
//     starts the tests chooses, ends a wait.
//  2. A wait that ends reports what it waited for, as -timeout would not.
//
// # Concurrency
//
// The functions may be called from several tests at once. CheckLinear measures only the
// goroutine that calls it.
package clocktest
