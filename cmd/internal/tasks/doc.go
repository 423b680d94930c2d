// Tasks contains the steps of the Makefile that are too complex for make.
//
// It answers the question "what does make run do?".
//
//	tasks run             serve in the foreground, index this repository and the
//	                      Go standard library, print what to try
//	tasks quick           vet and tests of what changed
//	tasks fuzz            every fuzz test of the module, one after the other
//	tasks upgrade-sample  a data directory that an older commit has written
//	tasks release         archives of a release, with checksums and bills of materials
//	tasks image           the container image, without a container engine
//	tasks packages        deb and rpm packages, with nfpm
//	tasks rolling         a cluster goes from another commit to this tree
//	tasks bench-compare   benchmarks of two commits, ten runs each, through benchstat
//
// The tables of docs/sizing.md follow from sizing.json; make generate writes them.
//
// # Invariants
//
//  1. It writes only below .cache, which git ignores. upgrade-sample also writes its
//     archive and, while it runs, the repositories that the sample names.
//  2. It ends every process that it started.
//
// It works only in a checkout of the source: the binary that people install is
// cmd/quarry.
package main
