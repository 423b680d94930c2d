// Package backup writes backups of an installation to a directory and restores them.
//
// It answers the question "which files make up an installation, and are their bytes
// unchanged?". docs/format/backup.md describes the directory.
//
// # Main types
//
//	Directory  a backup directory: generations that share objects
//	Source     the files to back up: a checkpoint of the log, segments, the secret
//	Manifest   the head of a generation
//	Target     the place to restore a generation to
//
// # Order
//
//	back up   objects ──► manifest ──► retention ──► sweep of objects without a manifest
//	restore   marker ──► files ──► compare ──► marker removed
//
// # Invariants
//
//  1. A generation exists once its manifest has its final name. All objects that the
//     manifest names were synced before.
//  2. An object never changes; its name is the SHA-256 of its bytes.
//  3. A target with the marker is incomplete: serve refuses it (CheckRestored), and
//     Restore of the same generation resumes.
//  4. Restore writes only below its target, whatever a manifest contains.
//  5. Memory does not grow with the size of a file. It grows with the number of files,
//     by less than 200 bytes each; a manifest has at most MaxFiles.
//
// # Concurrency
//
// One process writes to a directory and holds its lock. Readers take no lock: the files
// that they read stay unless a retention removes them. A Directory is used by one
// goroutine.
//
// This package does not know the server: the caller creates the checkpoint and prevents
// the deletion of objects during the backup.
package backup
