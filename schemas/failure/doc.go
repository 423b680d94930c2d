// Package failure describes failures in a form that is safe to show: callers get a code
// with a sentence on what to do, owners the message of the program that failed, without
// credentials.
//
// It answers the questions "what does this failure mean, and what do I do about
// it?" and "may this text be written to a log, an event or an answer?".
//
// # Codes
//
// An error carries a Code (New, With); CodeOf finds it. The table in code.go lists every
// Code with its meaning and its remedy. Callers without the owner role see these texts,
// so they contain no data of a repository, a host or this machine.
//
// # Requests
//
// The errors in request.go are for callers whose request a part refuses or cannot carry out
// now; query/api maps each to a status.
//
// # Text
//
// Repositories and hosts control what git prints: contents of files, URLs with passwords,
// terminal escape sequences. Such text passes through Quote before it becomes an error,
// and through Clean before it becomes an event, a response or a log line. Both mask
// everything that looks like a credential. Quote also shortens long hexadecimal strings,
// which may be keys; Clean keeps them, because they may be object names.
//
// # Invariants
//
//  1. Text is masked before it is truncated, so that truncation never removes the
//     beginning by which a credential is recognized.
//  2. Clean and Quote return valid UTF-8 of at most the requested length in bytes,
//     without control characters and without characters that change the direction of
//     text.
//  3. Clean(Clean(s)) is Clean(s).
//
// Masking is heuristic: a password that looks like a word is not masked. It is the second
// line of defense; the first is that git reads only what belongs to a repository.
//
// The package imports only the standard library. All functions are safe for concurrent
// use.
package failure
