// Command chaos breaks a running Quarry repeatedly, and checks each time whether an
// acknowledged push was lost.
//
//	chaos --quarry PATH --work DIR [--rounds N] [--seed N] [--setups embedded,kafka1,kafka3,bucket,sharded] [--faults NAME]
//
// It answers: what survives kill -9, dying brokers, a full disk, clock jumps, corrupted
// records and damaged stores?
//
// The parts: internal/host (repositories with a model of the expected search results, and
// webhooks), internal/fleet (processes of Quarry and brokers), internal/rounds (faults,
// the invariant, the figures). docs/reliability.md contains the figures.
//
// The binary is built with the tag quarrychaos, which gives it a clock that can be moved
// and changes nothing else. A full disk is an in-memory file system, which only root can
// mount; without root that fault is skipped and reported by name.
//
// TestChaos is a short run, for `make test`.
package main
