// Package verification has the words for a comparison of the index with git.
//
// It answers the question "what is compared, and what was found?". cmd/quarry/internal/verify
// compares, and query/api maps what it reports to the frames of its answer.
//
// The types hold no locks and no behavior.
package verification
