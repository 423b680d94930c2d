// Package scip reads indexes in the SCIP format, and keeps each as one object from which a
// query reads a few blocks.
//
// It answers the question "what did a compiler find out about these files?". The main
// types are Visitor (takes the parts of an index that ReadIndex decodes), Builder (writes
// the object) and Reader (reads from it).
//
//	upload ──► ReadIndex ──► Builder.AddDocument ──► object ──► Reader
//	           protobuf,     positions in bytes,     segment    document by path,
//	           a stream      lines as hashes         store      symbol by name
//
// # Format
//
// docs/format/scip.md draws the object. A document has the hash of each of its lines, so
// that MapLines finds its unchanged lines in a later version without the earlier one.
//
// # Invariants
//
//  1. Decoders take hostile bytes: they return ErrInvalid, ErrTooLarge or ErrCorrupt, and
//     allocate in proportion to what they have read, within Limits.
//  2. A position of a Reader is a line from 0 and a column in bytes of UTF-8, whatever the
//     encoding of the index.
//  3. A Reader checks the checksum of each block that it reads.
//  4. The same index of the same files at the same time gives the same object.
//
// A Reader is safe for concurrent use; a Builder is not. The package knows no repository
// and decides nothing about who may read what.
package scip
