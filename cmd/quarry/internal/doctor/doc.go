// Package doctor finds problems of a server, for "quarry doctor".
//
// It answers the question "what is wrong with this installation, and how is it fixed?".
//
// # Main types
//
//	Examination  the input: the settings and the probes
//	Finding      one sentence: ok, warning or problem, with a remedy
//	checks       the table of all checks, in the order in which they are printed
//
// # Invariants
//
//  1. It works while the server runs and while it is stopped, and without the
//     secrets of the configuration.
//  2. It changes nothing but a file in each directory, which it removes immediately, and
//     the files of a stopped embedded log, as every start does. It does not open the log
//     if it runs as another user than the owner of the data directory.
//  3. Every check is bounded by checkTimeout. A check that cannot run is reported as a
//     warning.
//  4. A finding contains no secret.
//
// # Concurrency
//
// Checks run one after the other.
package doctor
