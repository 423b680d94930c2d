// Package pins chooses the commits that repositories index because submodules of other
// repositories refer to them (docs/adr/0033).
//
// It answers the question "which commits of this repository do submodules need?".
//
//	SubmodulesListed of parents ──► catalog ──► Pinner ──► PinsChanged of children ──► worker
//
// A parent is a repository with the option submodules; its worker lists the submodules of
// its default branch. A child is a registered repository that has the URL of a submodule.
// Its pins are the commits that the parents need. Its worker indexes those to which one of
// its own indexed branches or tags leads, with the ref code.PinRef; nothing is fetched for
// them.
//
// # Invariants
//
//  1. The pins of a child depend only on the catalog. A lost race or a crash is corrected
//     by the next round.
//  2. Nothing is fetched from the URL of a submodule: it is only compared with those of
//     registered repositories.
//  3. A pin that no parent needs any more is removed, also if its parent was removed or
//     lost the option.
//  4. A round without changes appends no event.
//
// # Bounds
//
// Of a parent, the first event.MaxSubmodules count, in the order of their paths. A child
// has at most event.MaxPins: if parents need more, those that most parents need come first, then those that are pins already. The
// metric quarry_pins_left_out counts the others. The pins of a child change at most once
// per Options.ChildInterval, because anyone who may push to a parent can change them. A
// round takes memory for each commit that a parent needs, about 100 bytes.
//
// One process of a group runs the rounds (eventlog.Lead), every Options.Interval.
package pins
