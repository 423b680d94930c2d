// Package source reads files, directories and history of repositories at any
// revision.
//
// It answers the question "what is in this file, who wrote it, and when?". Main
// types: Browser (all of it, bounded), Index (access to the index, declared here
// and implemented by projections), Git (access to a mirror, declared here and
// implemented by the role that holds the mirrors).
//
// # Where an answer comes from
//
//	file, directories   of a revision that is indexed: the index; of another: git
//	of that revision    what the index has not, such as a file that is too large
//	                    to be indexed or a link: git, at the same commit
//	history, blame,     git, at the commit that the index has of the ref
//	differences,
//	submodules
//
// So a hit can be opened at the revision on which it was found, and search and
// view cannot disagree: a branch means the commit that searches answer from, even
// while the mirror has a newer one.
//
// # Invariants
//
//  1. A revision goes through code.ParseRevisionName and a path through
//     code.ValidatePath before any lookup; git gets only full names of commits, except
//     to resolve one.
//  2. Every call has a bound in time, in bytes and in entries; the calls of git at
//     once are bounded, and so are those that wait. The bounds are named in
//     options.go and bounds.go.
//  3. A commit that is named by its ID is served if a ref that a client may name
//     leads to it, and is unknown otherwise, unless Options.ServeUnreachable is set.
//  4. A blame is kept by repository, commit and path, which never change their
//     meaning, within CacheBytes.
//  5. What .gitmodules says is data: it is parsed here, never by git, and nothing is
//     fetched from its URLs.
//
// A Browser is safe for concurrent use and starts no goroutine that outlives a
// call. It decides nothing about who may see a repository: its callers have
// found it.
package source
