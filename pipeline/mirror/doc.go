// Package mirror keeps bare git mirrors of repositories and reads from them.
//
// It answers the question "what does this ref point to, what files are there, and
// what are their bytes?", for repositories that others control. The git command
// line does the work (docs/adr/0006-git-command-line.md); this package decides
// which commands git runs and what it may touch.
//
// Main types: Mirrors (all mirrors below one directory), Mirror (one of them),
// Policy (which clone URLs git may see), Reader (a long-lived process that reads
// objects), ObjectID (a git object name of either hash). For people who look at a
// repository: Reader.Find and Directory, Mirror.Resolve, Log, Authors, Blame, Diff.
//
// # Layout
//
//	DIR/git.config               the only configuration git reads except a mirror's own
//	DIR/notes/NAME               what SetNote stored: true of these mirrors, lost with them
//	DIR/NN/REPOSITORY/           one mirror; NN = ID mod 256, in hexadecimal
//	  quarry.json                what was registered: code.Repository, and a checksum
//	  unannounced                segments put since the last announcement
//	  readings, readings.tail    of the indexer: what its blobs are read as
//	  git/                       the bare repository
//	    HEAD                     the default branch last announced in the log
//	    refs/heads/…             the branches as last fetched
//	    refs/quarry/indexed/R/-  the commit of R's last appended RevisionIndexed
//	    indexed-complete         there once every ref that the log has is below indexed/
//	    former-tips              previous commits of branches that moved
//	    copied-from              of a repository on disk: its path; the objects are copies
//
// # Invariants
//
//  1. git never reads a repository on disk. Package ondisk reads its refs and copies
//     its objects, and refuses what leads out of it; git reads the copies
//     (docs/adr/0019-copies-of-repositories-on-disk.md). The content of a blob that is
//     read for the index matches its name.
//  2. A mirror is a cache: remove it, a part of it or the whole directory at any
//     time, also while the process runs, and the next Fetch brings it back. Only
//     the indexed state is lost with it, which costs work, not truth. One whose files
//     are damaged is removed by ResetDamaged, at most maxResets times in resetWindow.
//  3. git sees a URL only after Policy.Check accepted it, and never a ref or an
//     object name that was not validated; every one follows --end-of-options or
//     -- or comes through standard input. Paths are literal, never patterns; to
//     read a file, none reaches git at all (Reader.Find).
//  4. Nothing is checked out, no hook runs, no prompt appears, and no
//     configuration is read but git.config and the mirror's own.
//  5. Every process runs in its own process group, dies with its context, and has a
//     bound on its output.
//  6. The indexed state is written by SetIndexed only: after the log has
//     acknowledged, never before.
//
// # Concurrency
//
// Mirrors and Mirror are safe for concurrent use; Fetch, FetchRefs and Remove of
// one mirror exclude each other, and a repack by Run. A Reader belongs to one
// goroutine. Nothing runs in the background but in Run, which the caller owns: a
// process lives as long as the call, or as the Reader, that started it. A read of a
// disk that hangs outlives its call: at most one for each mirror.
//
// # What it must not do
//
// It knows nothing of the log, of languages or of segments, and never writes to
// a repository that it reads by path.
package mirror
