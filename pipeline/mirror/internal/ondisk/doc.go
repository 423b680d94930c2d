// Package ondisk reads a git repository on a disk of this machine that belongs to
// another user, without running git on it.
//
// It answers the question "which refs does this repository have, and which files contain
// its objects?", for repositories whose owner may be an attacker: every link, FIFO,
// device, size and name in them is hostile until checked. The mirror copies the files and
// lets git read the copies (docs/adr/0019-copies-of-repositories-on-disk.md).
//
// Main types: Repository (an open repository), Objects (the state of a copy of its
// objects).
//
// # What is read
//
//	PATH/.git              a directory, or a file "gitdir: PATH" (linked worktree, submodule)
//	commondir              in a linked worktree: the location of refs and objects
//	HEAD                   a branch or a commit
//	config                 extensions.objectFormat and extensions.refStorage
//	packed-refs, refs/…    names of commits
//	shallow                the commits whose parents are missing, parsed as names of commits
//	objects/XX/…           loose objects
//	objects/pack/pack-…    packs and their indexes
//	objects/info/alternates  other object directories, below the allowed roots
//
// Nothing else is opened: no hooks, attributes, grafts, replacements, reflogs, commit
// graphs, or files of the work tree.
//
// # Invariants
//
//  1. The caller's OpenBelow decides which directories may be opened. os.Root resolves
//     every name below one: a link that leads out of git's directory is refused, and
//     the error names it, even if the link appears between two reads.
//  2. Only regular files are read. A FIFO, a socket or a device is refused, the error
//     names it, and no read waits for it (O_NONBLOCK).
//  3. Each read, directory, depth and number of files has a bound (limits.go).
//  4. Content other than refs, commit names and object files is never returned, and
//     never part of an error.
//
// # Concurrency
//
// A Repository must be used by one goroutine at a time. Reads from a disk that hangs
// cannot be interrupted: the caller must run them in a goroutine that it can abandon.
//
// # What it must not do
//
// It never writes below the repository, and has no dependency on mirrors or events.
package ondisk
