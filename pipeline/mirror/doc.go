// Package mirror keeps bare git mirrors of repositories and reads from them.
//
// It answers the question "what does this ref point to, what files are there, and what
// are their bytes?", for repositories that others control. The git command line does the
// work (docs/adr/0006-git-command-line.md); this package decides which commands git runs
// and what they may access.
//
// Main types: Mirrors (all mirrors below one directory), Mirror (one of them), Policy
// (the allowed clone URLs), Reader (a long-lived process that reads objects), ObjectID (a
// git object name of either hash). For users who browse a repository: Reader.Find and
// Directory, Mirror.Resolve, Log, Authors, Blame, Diff.
//
// # Layout
//
//	DIR/git.config               the only configuration git reads except a mirror's own
//	DIR/notes/NAME               stored by SetNote: describes these mirrors, lost with them
//	DIR/NN/REPOSITORY/           one mirror; NN = ID mod 256, in hexadecimal
//	  quarry.json                the registration: code.Repository, and a checksum
//	  unannounced                segments stored since the last announcement
//	  readings, readings.tail    kept by the indexer: how it reads each blob
//	  unclassified               kept by the indexer: refs announced without attributes
//	  selection.json             how many refs the globs select, as of the last listing
//	  pins.json                  commits to index for submodules of other repositories
//	  submodules.json            the submodules last announced in the log
//	  git/                       the bare repository
//	    HEAD                     the default branch last announced in the log
//	    refs/heads/…             the branches as last fetched
//	    refs/quarry/indexed/R/-  the commit of R's last appended RevisionIndexed; R may be
//	                             a pin, refs/quarry/pins/COMMIT, which exists only here
//	    indexed-complete         exists once indexed/ contains every ref in the log
//	    former-tips              previous commits of branches that moved
//	    copied-from              for a repository on disk: its path; the objects are copies
//
// # Invariants
//
//  1. git never reads a repository on disk. Package ondisk reads its refs and copies
//     its objects, and refuses links that lead out of it; git reads the copies
//     (docs/adr/0019-copies-of-repositories-on-disk.md). When a blob is read for the
//     index, its content is verified against its name.
//  2. A mirror is a cache: you can remove it, a part of it or the whole directory at
//     any time, even while the process runs, and the next Fetch restores it. Only the
//     indexed state is lost with it, which costs work but not correctness.
//     ResetDamaged removes a mirror with damaged files, at most maxResets times in
//     resetWindow.
//  3. git receives a URL only after Policy.Check accepted it, and never a ref or an
//     object name that was not validated; each one follows --end-of-options or --, or
//     goes through standard input. Paths are literal, never patterns; to read a file,
//     no path is passed to git at all (Reader.Find).
//  4. Nothing is checked out, no hook runs, no prompt appears, and git reads no
//     configuration except git.config and the mirror's own.
//  5. Every process runs in its own process group, is killed when its context ends,
//     and has a bound on its output.
//  6. Only SetIndexed writes the indexed state, and only after the log has
//     acknowledged the append.
//
// # Concurrency
//
// Mirrors and Mirror are safe for concurrent use. Fetch, FetchRefs and Remove of one
// mirror exclude each other, and a repack by Run. A Reader belongs to one goroutine.
// Nothing runs in the background except in Run, which the caller owns: a process lives as
// long as the call, or the Reader, that started it. A read from a disk that hangs
// outlives its call; there is at most one for each mirror.
//
// # What it must not do
//
// This package has no dependency on the log, languages or segments, and never writes to a
// repository that it reads by path.
package mirror
