// Package terminal formats output for people: colors where they are wanted, and a
// progress display that becomes plain lines without a terminal.
//
// It answers the question "who reads this, a person or a program?".
//
// # Main types
//
//	Style     wraps text in colors, or leaves it unchanged
//	Progress  one line that is redrawn, or plain lines
//
// # Invariants
//
//  1. Only a terminal ever receives an escape sequence.
//  2. Text from a repository is printed without its control characters on a terminal: a
//     file must not be able to control the terminal.
//
// # Concurrency
//
// The types are used by one goroutine at a time.
//
// This package knows neither search results nor repositories.
package terminal
