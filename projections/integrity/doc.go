// Package integrity checks the files of Pebble stores and sealed segments for
// bits that have changed since they were written.
//
// It answers the question "does this file still hold what was written to it?".
// CheckRecords reads the manifest and the write-ahead logs of a store before the
// store is opened; CheckTable reads every block of a sorted table. Pace bounds how
// fast they read.
//
// # Why before a store is opened
//
// Pebble takes the first damaged chunk of a manifest for the end of the file: it
// opens an older state of the store without a word, and deletes the tables that
// this state does not name. It does the same in a write-ahead log unless a later
// block proves that the chunk was synced. CheckRecords finds these cases while
// all files are still there.
//
// # Torn or damaged
//
// A process that dies leaves an incomplete chunk at the end of a file, which is no
// damage. A chunk is damaged if a later chunk shows that it was written, or if one
// turned bit explains it. A last chunk of which more than one bit is wrong may
// count as torn.
//
// The package starts no goroutine and keeps nothing.
package integrity
