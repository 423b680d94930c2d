// Command chaos breaks a running Quarry again and again, and looks each time
// whether an acknowledged push was lost.
//
//	chaos --quarry PATH --work DIR [--rounds N] [--seed N] [--setups embedded,kafka1,kafka3] [--faults NAME]
//
// It answers: what survives kill -9, dying brokers, a full disk, clock jumps,
// corrupted records and damaged stores?
//
// The pieces: internal/host (repositories with a model of what must be found, and
// webhooks), internal/fleet (processes of Quarry and brokers), internal/rounds
// (faults, the invariant, the figures). docs/reliability.md has the figures.
//
// The binary is built with the tag quarrychaos, which gives it a clock that can be
// moved and changes nothing else. A full disk is a file system in memory, which
// needs root to be mounted; without it that fault is left out, by name.
//
// TestChaos is a short run, for `make test`.
package main
