// Package reconcile finds pushes that no webhook announced.
//
// It answers the question "which pushes did no webhook announce?": once per
// Options.Interval it lists the branches of every registered repository, compares them
// with the indexed refs in the log, and appends the missing Push. The index becomes
// correct without webhooks; webhooks make it so within seconds.
//
// Main types: Reconciler (Run, Status), Remotes (the repositories), Status (the
// last check of one repository).
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
//	reported  they differ, the log already has a Push for it, and indexing did not
//	          help: it was given up while a host was down, say. A Push is appended again
//	failed    the repository or the log did not answer
//
// # Invariants
//
//  1. The indexed commits are read from the log, not from this machine's mirrors:
//     those are out of date if another worker held the partition meanwhile.
//  2. A push that is in the log and that no worker has handled is not drift, however
//     long the backlog: the workers' committed offset is read after the repository,
//     and their appends below it are awaited.
//  3. The time of a look is a function of the repository's ID and the clock: the
//     looks are spread over the interval, before and after a restart alike.
//  4. A drift is counted once, when its first Push is appended, and only if no webhook
//     announced it: it means that webhook deliveries are lost. The ID of the Push is
//     derived from repository, ref and commit; if indexing does not help, it is appended
//     again after one interval, then two, four … up to MaxBackoff.
//
// # Who looks
//
// The partitions are shared out by this package's own consumer group, which never
// commits: each partition is assigned to one process, and is read from its
// beginning on assignment. It does not use the workers' assignment: their committed
// offset, which Invariant 2 needs, is the position of a worker, not where a reader
// must begin; and a check needs nothing of the worker's process.
//
// # Bounds
//
// Options.Concurrency looks at once, each bounded in time, output and number of
// refs by mirror.Mirror.List. About 1 KB of memory for a repository and 200 bytes
// for each of its selected branches; 6 ms of CPU for a look by path, most of it
// git's; at the start some 25 µs for each record of the log. A repository that fails is looked at after
// one interval, then two, four … up to MaxBackoff; if its host did not answer, within one
// interval after the host has answered for another repository. At most maxRelooks looks are
// added to the one per interval, and at most maxPushes pushes appended by one
// look: above that, one for all refs.
//
// # Concurrency
//
// Run blocks until its goroutines are gone; Status is safe for concurrent use.
//
// It fetches nothing and indexes nothing.
package reconcile
