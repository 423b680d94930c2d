// Package seedtest chooses the seeds of random tests.
//
// It answers the question "how is the failed run of a random test repeated?": each run has
// another seed, a failure prints it, and QUARRY_SEED repeats the run.
package seedtest
