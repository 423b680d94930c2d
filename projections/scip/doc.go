// Package scip reads indexes in the SCIP format and converts each to one object, of which a
// query reads only a few blocks.
//
// It answers the question "what did a compiler find out about these files?". The main
// types are Visitor (receives the parts of an index that ReadIndex decodes), Builder (writes
// the object) and Reader (reads it).
//
//	upload ──► ReadIndex ──► Builder.AddDocument ──► object ──► Reader
//	           protobuf,     positions in bytes,     segment    document by path,
//	           a stream      lines as hashes         store      symbol by name
//
// # Format
//
// docs/format/scip.md specifies the object. A document contains the hash of each of its
// lines, so that MapLines can find the unchanged lines in a later version of the file
// without the text of the earlier one.
//
// # Invariants
//
//  1. Decoders accept hostile input: they return ErrInvalid, ErrTooLarge or ErrCorrupt, and
//     allocate in proportion to the bytes they have read, within Limits. Reading an index
//     and building its object takes at most 100 MiB, because a Builder sorts what its
//     tables need in files (sorter.go).
//  2. Positions that a Reader returns are a zero-based line and a column in bytes of UTF-8,
//     regardless of the encoding of the index.
//  3. A Reader verifies the checksum of each block that it reads.
//  4. The same index of the same files with the same upload time produces the same object.
//
// A Reader is safe for concurrent use; a Builder is not. The package knows nothing about
// repositories and does not check permissions.
package scip
