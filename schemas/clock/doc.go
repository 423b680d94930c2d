// Package clock waits.
//
// It answers the question "how does a loop pause and still stop promptly?". Its one
// function is a time.Sleep that ends when a context does.
package clock
