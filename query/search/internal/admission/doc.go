// Package admission shares the processors between searches, so that an expensive
// one barely slows down the others.
//
// It answers the question "which search may run now?". A search begins as interactive: it
// takes a slot and runs immediately. After Options.Slice of work, or a quarter of it if
// others wait for slots, it becomes heavy: it frees its slot and takes a heavy slot. From
// then on, its workers take turns on the processors that interactive workers leave free.
//
// # Main types
//
//	Controller  admits all searches of a process
//	Ticket      is an admitted search
//	Worker      is a goroutine of a search, which calls Step frequently
//
// # Scheduling
//
//	interactive workers  always run
//	heavy workers        run on the processors without an interactive worker, each for a
//	                     turn; if there are none, one heavy worker runs for floorRun after
//	                     each floorPause: the floor share
//
// A heavy worker checks at every Step whether too many of them run, and yields immediately.
// So a search that runs alone has all processors, and new searches wait for a Step, some
// tens of microseconds, and not for a search.
//
// # Invariants
//
//  1. At most MaxInteractive searches have a slot, and at most MaxHeavy a heavy slot. The
//     number of searches that wait for either is bounded; further ones fail with ErrBusy.
//  2. A worker that waits returns when its done channel is closed.
//  3. A search with a heavy slot gets its turn, however many interactive searches there are.
//
// A Controller and a Ticket are safe for concurrent use; a Worker belongs to one
// goroutine. The package does not know what a search does.
package admission
