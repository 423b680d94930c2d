// Package reconcile finds pushes that no web hook told of.
//
// It answers the question "where does a repository stand that nobody told us
// about?": it asks every registered repository once per Options.Interval where
// its branches are, compares that with what the log says is indexed, and appends
// the Push that is missing. That the index comes to be right does not depend on
// hooks; that it does so within seconds does.
//
// Main types: Reconciler (Run, Status), Remotes (who is asked), Status (the last
// look at one repository).
//
//	log ──follow──► indexed refs, pushes on their way ─┐
//	schedule ──due──► look: ls-remote ─────────────────┴► equal | suspect ─grace─► drift ──Push──► log
//
// # What a look finds
//
//	equal     the selected branches are where the log says
//	waiting   they differ, and a push or an import of them is still to be handled
//	suspect   they differ, for the first time: looked at again after Options.Grace
//	drift     they differ twice, and no push came between: a Push was appended
//	told      they differ, the log was told of it, and indexing did not help: it
//	          was given up while a host was away, say. A Push is appended again
//	failed    the repository or the log did not answer
//
// # Invariants
//
//  1. What is indexed is read from the log, not from this machine's mirrors: those
//     are behind where another worker held the partition meanwhile.
//  2. A push that the log has and no worker has handled is no drift, however long
//     the backlog: the workers' committed offset is asked for after the repository
//     was, and what they appended below it is waited for.
//  3. The time of a look is a function of the repository's ID and the clock: the
//     looks are spread over the interval, before and after a restart alike.
//  4. A drift is counted once, when its first Push is appended, and only if no hook
//     told of it: it says that hooks are lost. The Push has an ID derived from
//     repository, ref and commit; if indexing does not help, it is appended again
//     after one interval, then two, four … up to MaxBackoff.
//
// # Who looks
//
// The partitions are shared out by a consumer group of this package's own, which
// never commits: each partition is looked after by one process, and is read from
// its beginning when it is taken over. Not the workers' assignment, since their
// committed offset, which Invariant 2 needs, is where a worker stands, not where
// a reader must begin; and a look needs nothing that the worker's process has.
//
// # Bounds
//
// Options.Concurrency looks at once, each bounded in time, output and number of
// refs by mirror.Mirror.List. About 1 KB of memory for a repository and 200 bytes
// for each of its selected branches; 6 ms of CPU for a look by path, most of it
// git's; at the start some 25 µs for each record of the log. A repository that fails is looked at after
// one interval, then two, four … up to MaxBackoff. At most maxRelooks looks are
// added to the one per interval, and at most maxPushes pushes appended by one
// look: above that, one for all refs.
//
// # Concurrency
//
// Run blocks until its goroutines are gone; Status is safe for concurrent use.
//
// It fetches nothing and indexes nothing.
package reconcile
