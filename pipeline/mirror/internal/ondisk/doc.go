// Package ondisk reads a git repository on a disk of this machine that belongs to
// another user, without running git on it.
//
// It answers the question "which refs does this repository have, and which files
// hold its objects?", for repositories whose owner may be an attacker: every link,
// FIFO, device, size and name in them is hostile until checked. The mirror copies
// the files and lets git read the copies (docs/adr/0019-copies-of-repositories-on-disk.md).
//
// Main types: Repository (an open repository), Objects (the state of a copy of its
// objects).
//
// # What is read
//
//	PATH/.git              a directory, or a file "gitdir: PATH" (linked worktree, submodule)
//	commondir              of a linked worktree: where refs and objects are
//	HEAD                   a branch or a commit
//	config                 extensions.objectFormat and extensions.refStorage
//	packed-refs, refs/…    names of commits
//	shallow                the commits whose parents are missing, parsed as names of commits
//	objects/XX/…           loose objects
//	objects/pack/pack-…    packs and their indexes
//	objects/info/alternates  other object directories, below the allowed roots
//
// Nothing else is opened: no hook, no attribute, no graft, no replacement, no
// reflog, no commit-graph, and no file of the work tree.
//
// # Invariants
//
//  1. The caller's OpenBelow decides which directories may be opened. Every name
//     below one is resolved by os.Root: a link that leads out of git's directory is
//     refused by name, also if it appears between two reads.
//  2. Only regular files are read. A FIFO, a socket or a device is refused by name
//     and never waited for (O_NONBLOCK).
//  3. Each read, directory, depth and number of files has a bound (limits.go).
//  4. Content that is not a ref, a name of a commit or an object file is never
//     returned, and never part of an error.
//
// # Concurrency
//
// A Repository is used by one goroutine at a time. Reads from a disk that hangs
// cannot be interrupted: the caller runs them in a goroutine that it can abandon.
//
// # What it must not do
//
// It never writes below the repository, and knows nothing of mirrors or events.
package ondisk
