// Command searchbench measures Quarry as a whole: it builds the corpora, runs Quarry,
// zoekt and ripgrep side by side on one machine, and prints the table of
// docs/performance.md.
//
//	searchbench corpora --out DIR                      build the source trees (docs/corpora.md)
//	searchbench run --corpora DIR --quarry PATH …      measure; the table as Markdown; --reuse WORK --only STEPS for a part of it
//	searchbench compare --corpora DIR --quarry PATH --before PATH …   this build and an earlier one, in turn; fails if it is worse
//	searchbench random --corpora DIR --quarry PATH --seed N …         random queries alone, with counts checked by ripgrep
//	searchbench verify --corpora DIR --quarry PATH …   compare files and match counts with ripgrep; fails on a difference
//	searchbench growth --tree DIR --work DIR --quarry PATH …   measure how the figures grow with text, repositories and pushes
//	searchbench fanout --corpora DIR --quarry PATH …   compare one process with fronts and their shards
//	searchbench relevance --corpora DIR …              measure how high the wanted file ranks
//	searchbench answers --work DIR --quarry PATH …     measure whether the right line is among the first ten; --repos DIR draws the tasks from these repositories
//
// It answers: how fast, how large and how right is this build, compared with what, on
// which machine?
//
// The parts: internal/corpus (the searched text), internal/suite (the queries),
// internal/proc (processes, their memory, the machine), internal/engine (one file per
// measured program), internal/random (queries drawn from text), internal/bench (programs
// in turn), internal/backbone (freshness, a backlog, many branches), internal/verify,
// internal/relevance and internal/answers (right answers), internal/report (tables).
//
// Everything is bounded in time and count, every server listens on loopback, and every
// started process is ended by its process group. A comparison that cannot be made (no
// zoekt binaries) is reported as such, never omitted.
package main
