// Package clock waits.
//
// It answers the question "how does a loop pause and still stop promptly?". Sleep is a
// time.Sleep that ends when a context does, and RunEvery a loop that ends with one.
package clock
