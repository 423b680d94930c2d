// Package discovery finds the repositories of connections through the APIs of their
// code hosts, and keeps what is registered equal to what the hosts have.
//
// It answers the question "which repositories should be registered, and what does the
// host say of them?". A package below it knows each kind of host; pipeline/discovery/hostapi
// is the transport of all of them.
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
//	Connection  what is looked for, and with which credentials
//	Lister      lists the repositories of one connection; one per kind of host
//	Listing     takes what a Lister finds and what failed
//	Syncer      runs the syncs, appends events, has the State of each connection
//	Issue       what went wrong, with a remedy
//
// # Invariants
//
//  1. Nothing is removed unless the whole listing succeeded, twice in a row: one failed
//     target, page or limit keeps every repository of the connection. A host that lists
//     far fewer repositories than before is not believed (Issue removal_held).
//  2. The ID of a repository comes from the host's name and the host's own identity of
//     it, as in webhooks, so renames and transfers keep it.
//  3. A repository belongs to one connection: the first that registered it. Others that
//     find it hold it: when its connection goes, it goes over to one of them.
//  4. A connection that was removed from the settings gives up its repositories once
//     every other connection has been listed whole in this process.
//  5. A sync without changes appends no event.
//  6. Repositories that were registered by hand are never removed or renamed.
//
// # Who syncs
//
// The members of a consumer group of the topic of the accounts, which has one
// partition: the member that gets it syncs, the others wait. The group never commits.
//
// # Bounds
//
// Options.Concurrency syncs at once; Options.MaxRepositories for each connection, of
// which 8 bytes each are kept between syncs, and the answers of the host compressed in
// hostapi.Cache. Events are appended in batches of maxBatch. At most maxIssues issues
// are kept of one sync.
//
// It clones nothing and reads no webhook.
package discovery
