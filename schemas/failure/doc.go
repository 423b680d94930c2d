// Package failure describes what went wrong so that it may be shown: to callers a
// code with a sentence on what to do, to owners the words of the program that
// failed, without credentials.
//
// It answers the questions "what does this failure mean, and what do I do about
// it?" and "may this text be written to a log, an event or an answer?".
//
// # Codes
//
// An error carries a Code (New, With); CodeOf finds it. The table in code.go has
// every Code with its meaning and its remedy. It is what callers without the owner
// role see, so it holds no word of a repository, a host or this machine.
//
// # Text
//
// Git prints what a repository or a host makes it print: contents of files, URLs
// with passwords, escape sequences of terminals. Such text passes Quote where it
// becomes an error, and Clean where it becomes an event, an answer or a line of
// the log. Both mask what looks like a credential; Quote also shortens long
// hexadecimal strings, which may be a key where Clean has to expect an object name.
//
// # Invariants
//
//  1. Text is masked before it is cut, so that no cut hides the beginning by which
//     a credential is recognized.
//  2. Clean and Quote return valid UTF-8 of at most the requested length in bytes,
//     without control characters and without characters that change the direction of
//     text.
//  3. Clean(Clean(s)) is Clean(s).
//
// A mask is a guess: a password that looks like a word passes. It is the second
// line of defense; the first is that git reads only what belongs to a repository.
//
// Standard library only. All functions are safe for concurrent use.
package failure
