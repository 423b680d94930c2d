// Package doctor looks for what keeps a server from running well: what "quarry
// doctor" prints.
//
// It answers the question "what is wrong with this installation, and what helps?".
//
// # Main types
//
//	Examination  what is looked at: the settings, and the probes that look
//	Finding      one sentence: ok, warning or problem, with a remedy
//	checks       the table of all checks, in the order in which they are printed
//
// # Invariants
//
//  1. It works while the server runs and while it is stopped, and without the
//     secrets of the configuration.
//  2. It changes nothing but a file in each directory that it removes at once, and
//     the files of a stopped embedded log, as every start does. It leaves the log
//     alone if its own user is not that of the data directory.
//  3. Every check is bounded by checkTimeout. A check that cannot be made is reported
//     as a warning.
//  4. A finding shows no secret.
//
// # Concurrency
//
// Checks run one after the other.
package doctor
