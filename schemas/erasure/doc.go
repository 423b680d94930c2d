// Package erasure has the words for the removal of text from every file.
//
// It answers the question "what is to be erased, how far is it, and what proves it?". The
// projection keeps these types as rows, cmd/quarry carries erasures out, and query/api maps
// them once.
//
// The types hold no locks.
package erasure
