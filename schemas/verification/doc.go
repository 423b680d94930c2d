// Package verification defines the types for a comparison of the index with git.
//
// It answers the question "what is compared, and what was found?".
// pipeline/verify compares, and query/api maps its findings to the frames of a response.
//
// The types hold no locks and no behavior.
package verification
