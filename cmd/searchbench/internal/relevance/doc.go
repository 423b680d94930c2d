// Package relevance measures how high a search puts the file that people look for.
//
// It answers: of a set of queries, each with the files that should come first, at
// which place does an engine show the first of them?
//
//	Query    what is typed, its category, and the files wanted
//	Half     tune or test, by a hash of the query, so that it cannot be chosen
//	Measure  sends all queries to an engine; Report prints the figures of all
//
// The figure is the mean reciprocal rank: 1 for a file in the first place, 1/2 in
// the second, 0 beyond Depth. Single answers are shown of the tuning half alone,
// so that the other stays a test.
//
// Format of the queries (JSON):
//
//	{"about": "…", "queries": [{"category": "type", "query": "task_struct", "want": ["linux:include/linux/sched.h"]}]}
package relevance
