// Package erasure defines the types for the removal of text from every file.
//
// It answers the question "what is to be erased, how far has it progressed, and what
// proves it?". The projection stores these types as rows, cmd/quarry carries out
// erasures, and query/api maps them once.
//
// The types hold no locks.
package erasure
