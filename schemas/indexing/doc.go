// Package indexing defines the types for the indexing state of a repository.
//
// It answers the question "is this repository searchable, as of which push, and what failed?".
// cmd/quarry fills the types in from the projections, the log and the workers of its process;
// query/api maps them to the bodies of its answers, and query/web shows them.
//
// The types hold no locks and no behavior.
package indexing
