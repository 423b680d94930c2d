// Quarry is self-hosted code search: the one binary, server and command line.
//
// It answers the question "how do I run it, fill it and ask it?".
//
//	quarry help
//
// # Parts
//
//	main.go, one file per command   the table of commands; flags and exit statuses
//	querywords.go                   what of a search is a flag, and what is the query
//	completion.go, candidates.go    completion scripts, and their requests
//	man.go                          man pages
//	internal/server                 joins the parts of every role into a run group
//	internal/terminal               colors, escapes and the progress display
//
// # Exit statuses
//
//	0    success; search: a match was found
//	1    failure; search: nothing was found
//	2    wrong usage; search: the search failed
//	130  interrupted; 143: terminated
//
// # Invariants
//
//  1. Only serve, replay and, for the embedded log, topics open a data directory,
//     and all hold its lock.
//  2. Results go to standard output, everything else to standard error.
//  3. An interrupt ends a command; it never leaves the server inconsistent, since the
//     request goes on there. A replay is the exception: it is stopped.
//
// It declares no setting (see config) and holds no logic of a part.
package main
