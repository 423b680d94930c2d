// Package corpus builds the source trees on which Quarry is measured, from package
// registries, by name and pinned version.
//
// It answers: on which text was a figure measured, and how does someone else get the same
// text?
//
// A List (corpora.json) names repositories; Build creates each of them once under an
// output directory:
//
//	OUT/git/NAME.git        bare repository: one commit on refs/heads/main, fixed author and date, HEAD → main
//	OUT/tree/NAME/          the same files, checked out, for ripgrep
//	OUT/pushes/NAME.git     more one-file commits on refs/heads/push-01 … push-20, each on top of the previous one (borrows objects from OUT/git)
//	OUT/corpora.json        the Manifest of what was built, with files, bytes, bytes of text, commits
//	OUT/cache/              downloads, kept for the next run
//
// Invariants
//
//  1. Every download is made by the package manager of its registry (go, npm, pip, cargo, mvn, apt-get); no registry is named here.
//  2. The same List gives the same commit hashes: commits are written by git fast-import from sorted paths, without filters, attributes or clocks.
//  3. A repository appears under OUT/git only when it is complete (renamed into place), so an interrupted build is resumed by running it again.
//  4. Files, bytes, time and free disk are bounded by Limits.
//
// Two processes must not run Build on one output directory. The package starts processes
// and ends them with its context; it must not know anything about search engines.
package corpus
