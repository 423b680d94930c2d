// Package admission shares the processors between searches, so that an expensive
// one barely slows down the others.
//
// It answers the question "which search may run now?". A search begins as
// interactive: it takes a place and runs at once. When it has worked for
// Options.Slice, or a quarter of it if others wait for places, it becomes heavy: it gives its place to the next, takes a seat
// among the heavy ones, and from then on its workers run on the processors that
// interactive ones leave, turn by turn.
//
// # Main types
//
//	Controller  one for all searches of a process
//	Ticket      an admitted search
//	Worker      a goroutine of it, which calls Step all the time
//
// # Who runs
//
//	interactive workers  always
//	heavy workers        as many as there are processors without an interactive
//	                     worker, each for a turn; if there is none, one of them for
//	                     floorRun after each floorPause: their floor share
//
// A heavy worker looks at every Step whether there is one too many of them, and
// gives way at once. So a search alone has all processors, and arriving ones wait
// for a Step, some tens of microseconds, not for a search.
//
// # Invariants
//
//  1. At most MaxInteractive searches have a place, at most MaxHeavy a seat; who
//     waits for either is bounded, and who comes on top gets ErrBusy.
//  2. A worker that waits returns when its done channel is closed.
//  3. A heavy search with a seat has its turn, however many interactive ones there are.
//
// A Controller and a Ticket are safe for concurrent use; a Worker belongs to one
// goroutine. The package knows nothing of what a search does.
package admission
