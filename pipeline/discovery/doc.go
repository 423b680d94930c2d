// Package discovery finds the repositories of connections through the APIs of their code
// hosts, and keeps the registered repositories equal to those of the hosts.
//
// It answers the question "which repositories should be registered, and how does the host
// describe them?". Each kind of host has a package below this one;
// pipeline/discovery/hostapi is the transport of all of them.
//
//	schedule, change of settings, request
//	          │
//	          ▼
//	Lister.List ──Found──► filter ──► compare with the catalog ──► events ──► log
//	     │ Fail                          RepositoryRegistered, -Changed, -Removed
//	     ▼
//	   Issue ──► State of the connection, for the API
//
// # Main types
//
//	Connection  what discovery looks for, and with which credentials
//	Lister      lists the repositories of one connection; one per kind of host
//	Listing     collects what a Lister finds and what failed
//	Syncer      runs the syncs, appends events, keeps the State of each connection
//	Issue       a problem, with a remedy
//	Hint        what a delivery says of one repository
//	HintReader  reads the repositories of hints, and appends what the host says
//
// # Invariants
//
//  1. A repository is removed only if two complete listings in a row lack it: a single
//     failed target, page or limit keeps every repository of the connection. If a host
//     lists far fewer repositories than before, none is removed (Issue removal_held).
//  2. The ID of a repository is derived from the host's name and the host's own identity
//     of it, as in webhooks, so renames and transfers keep it.
//  3. A repository belongs to one connection: the first that registered it. Other
//     connections that find it hold it: when its connection loses it, it moves to one of
//     them.
//  4. Repositories of a connection that was removed from the settings are moved or
//     removed once every other connection has been listed completely in this process.
//  5. A sync without changes appends no event.
//  6. Manually registered repositories are never removed or renamed.
//  7. A hint changes nothing by itself. What a reading returns is applied by the rules of
//     a sync, to a repository of the connection that it was read with, or of none.
//  8. A description that makes a repository public carries the private mark that was seen
//     before the host was asked (event.RepositoryChanged), so a delivery that said
//     "private" since then wins.
//
// # Which process syncs
//
// One process of a group syncs at a time (eventlog.Lead). Each process that receives
// webhooks follows the hints of those.
//
// # Bounds
//
// At most Options.Concurrency syncs run at the same time. A connection has at most
// Options.MaxRepositories repositories; 8 bytes of each are kept between syncs, and the
// compressed responses of the host in hostapi.Cache. Events are appended in batches of
// maxBatch. At most maxIssues issues of one sync are kept. At most maxHints hints wait, one
// for each repository. A connection has one reading at a time and maxConnectionHints in
// hintWindow, a repository maxRepositoryHints. What is dropped or given up is left to the
// next sync.
//
// The package clones nothing and reads no webhooks.
package discovery
