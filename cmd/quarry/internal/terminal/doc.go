// Package terminal writes for people: colours where they are wanted, and a
// progress display that becomes plain lines elsewhere.
//
// It answers the question "who reads this, a person or a program?".
//
// # Main types
//
//	Style     wraps text in colours, or leaves it alone
//	Progress  one line that is redrawn, or plain lines now and then
//
// # Invariants
//
//  1. Nothing that is not a terminal ever receives an escape sequence.
//  2. Text from a repository is printed without its control characters when it
//     goes to a terminal: a file must not be able to drive the terminal.
//
// # Concurrency
//
// The types are used by one goroutine at a time.
//
// It knows neither search results nor repositories.
package terminal
