// Package backup writes backups of an installation to a directory and restores them.
//
// It answers the questions "which files make up an installation, and are their bytes
// unchanged?" and "which files must stay while they are copied, and until when?".
// docs/format/backup.md describes the directory.
//
// # Main types
//
//	Directory  a backup directory: generations that share objects
//	Source     the files to back up: a checkpoint of the log, segments, the secret
//	Manifest   the head of a generation
//	Target     the place to restore a generation to
//	Leases     keeps a checkpoint of the log and all objects until a backup ends
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
//  6. One lease is active at a time. It ends when its client ends it or does not renew it for
//     a minute, and in any case after a day.
//  7. Objects are held before the checkpoint is created, so that every object that the
//     checkpoint names exists until the end. The checkpoints of a process that died are
//     removed at the next start.
//
// # Concurrency
//
// One process writes to a directory and holds its lock. Readers take no lock: the files
// that they read stay unless a retention removes them. A Directory is used by one
// goroutine. Leases is safe for concurrent use; its Run blocks, and ends an active backup when
// it returns.
//
// This package does not know the server: a command takes a lease by the API before it copies.
package backup
