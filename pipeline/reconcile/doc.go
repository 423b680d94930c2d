// Package reconcile finds pushes that no webhook announced.
//
// It answers the question "which pushes did no webhook announce?": once per
// Options.Interval it lists the branches of every registered repository, compares them
// with the indexed refs in the log, and appends each missing Push. So the index becomes
// correct even without webhooks; webhooks only make it current within seconds.
//
// Main types: Reconciler (Run, Status), Remotes (the repositories), Status (the
// last check of one repository).
//
//	log ──follow──► indexed refs, pending pushes ──────┐
//	schedule ──due──► check: ls-remote ────────────────┴► equal | suspect ─grace─► drift ──Push──► log
//
// # Results of a check
//
//	equal     the selected branches are at the commits in the log
//	waiting   they differ, and a push or import of them has not been handled yet
//	suspect   they differ for the first time; they are checked again after Options.Grace
//	drift     they differ twice without a push in between: a Push was appended
//	reported  they differ and the log already has a Push for it, but indexing failed,
//	          for example because a host was down. A Push is appended again
//	failed    the repository or the log did not answer
//
// # Invariants
//
//  1. The indexed commits are read from the log, not from this machine's mirrors,
//     which are outdated if another worker held the partition in the meantime.
//  2. A push that is in the log but not yet handled is not drift, however long the
//     backlog: the workers' committed offset is read after the repository, and their
//     appends for the records below it are awaited.
//  3. The time of a check is a function of the repository's ID and the clock. So the
//     checks are spread over the interval, before and after a restart alike.
//  4. A drift is counted once, when its first Push is appended, and only if no webhook
//     announced it: it means that webhook deliveries are lost. The ID of the Push is
//     derived from repository, ref and commit. If indexing does not help, the Push is
//     appended again after one interval, then two, four … up to MaxBackoff.
//
// # Assignment of repositories
//
// This package's own consumer group distributes the partitions. It never commits: each
// partition is assigned to one process, which reads it from the beginning. It does not
// use the workers' assignment, because their committed offset, which invariant 2 needs,
// is the position of a worker, not the offset from which a reader must start. Also, a
// check needs nothing of the worker's process.
//
// # Bounds
//
// At most Options.Concurrency checks run at the same time; mirror.Mirror.List bounds the
// time, output and number of refs of each. A repository takes about 1 KB of memory, plus
// 200 bytes for each of its selected branches. A check by path takes 6 ms of CPU, mostly
// in git. The start takes some 25 µs for each record of the log. A repository that fails
// is checked again after one interval, then two, four … up to MaxBackoff; if its host did
// not answer, within one interval after the host has answered for another repository. At
// most maxRelooks checks are added to the one per interval. One check appends at most
// maxPushes pushes; above that, one for all refs.
//
// # Concurrency
//
// Run blocks until its goroutines have ended; Status is safe for concurrent use.
//
// It fetches nothing and indexes nothing.
package reconcile
