// Package integrity checks the files of Pebble stores and sealed segments for corrupted
// bits.
//
// It answers the question "does this file still contain the bytes that were written?".
// CheckRecords reads the manifest and the write-ahead logs of a store before the store is
// opened; CheckTable reads every block of a sorted table. Pace bounds how fast they read.
//
// # Why before a store is opened
//
// Pebble treats the first damaged chunk of a manifest as the end of the file: it silently
// opens an older state of the store, and deletes the tables that this state does not
// reference. It does the same in a write-ahead log unless a later block proves that the
// chunk was synced. CheckRecords detects these cases while all files still exist.
//
// # Torn or damaged
//
// A crash leaves an incomplete chunk at the end of a file, which is not damage. A chunk
// is damaged if a later chunk proves that it was written completely, or if a single
// flipped bit explains the mismatch. A last chunk with more than one wrong bit may be
// taken for a torn one.
//
// The package starts no goroutines and keeps no state.
package integrity
