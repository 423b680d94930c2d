// Package indexer (being written by the lead since 12:21; the pipeline helper does
// mirror and changeset, and may report when those are done).
package indexer
