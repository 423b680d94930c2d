// Package source reads files, directories and history of repositories at any revision.
//
// It answers the question "what is in this file, who wrote it, and when?". Main types:
// Browser (all operations, bounded), Index (access to the index, declared here and
// implemented by projections), Git (access to a mirror, declared here and implemented by
// the role that holds the mirrors).
//
// # Where data comes from
//
//	files, directories  at an indexed revision: the index; at another one: git
//	at an indexed       content that is not in the index, such as a file that is too
//	revision            large or a link: git, at the same commit
//	history, blame,     git, at the ref's indexed commit
//	differences,
//	submodules
//
// So a search result can be opened at the revision at which it was found, and search and
// view cannot disagree: a branch name refers to the commit that is searched, even if the
// mirror has a newer one.
//
// # Invariants
//
//  1. A revision passes through code.ParseRevisionName and a path through
//     code.ValidatePath before any lookup; git gets only full commit IDs, except to
//     resolve one.
//  2. Every call is bounded in time, bytes and entries; concurrent git calls are bounded,
//     and so are waiting ones. The bounds are named in options.go and bounds.go.
//  3. A commit ID is served if a ref that a client may name leads to the commit, and is
//     unknown otherwise, unless Options.ServeUnreachable is set.
//  4. A blame is cached by repository, commit and path, whose content never changes,
//     within CacheBytes.
//  5. The content of .gitmodules is untrusted data: it is parsed here, never by git, and
//     nothing is fetched from its URLs.
//
// A Browser is safe for concurrent use and starts no goroutine that outlives a call. It
// does not decide who may see a repository: its callers have checked that.
package source
