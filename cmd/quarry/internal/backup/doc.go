// Package backup writes backups of an installation to a directory and restores them.
//
// It answers the question "which files make an installation whole, and are these
// bytes still what they were?". docs/format/backup.md draws the directory.
//
// # Main types
//
//	Directory  a backup directory: generations that share objects
//	Source     what is backed up: a checkpoint of the log, segments, the secret
//	Manifest   the head of a generation
//	Target     where a generation is restored to
//
// # Order
//
//	back up   objects ──► manifest ──► retention ──► sweep of objects without a manifest
//	restore   marker ──► files ──► compare ──► marker removed
//
// # Invariants
//
//  1. A generation exists when its manifest has its name. Every object that it names
//     was synced before.
//  2. An object never changes; its name is the SHA-256 of its bytes.
//  3. A target that has the marker is not whole: serve refuses it (CheckRestored), and
//     Restore of the same generation goes on.
//  4. Restore writes below its target only, whatever a manifest says.
//  5. Memory does not grow with the size of a file; it grows with the number of files,
//     by less than 200 bytes each, of which a manifest has at most MaxFiles.
//
// # Concurrency
//
// One process writes to a directory, held by a lock. Readers take no lock: what they
// read stays unless a retention removes it. A Directory is used by one goroutine.
//
// The package does not know the server: the caller makes the checkpoint, and keeps
// objects from being deleted meanwhile.
package backup
