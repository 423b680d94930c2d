// Package relevance measures how high a search ranks the file that people look for.
//
// It answers: for queries with known best files, at which position does an engine show
// the first of them?
//
//	Query    the text, its category, and the wanted files
//	Half     tune or test, by a hash of the query, so that it cannot be chosen
//	Measure  sends all queries to an engine; Report prints the figures of all
//
// The figure is the mean reciprocal rank: 1 for a file in the first position, 1/2 in the
// second, 0 beyond Depth. Individual answers are shown only for the tuning half, so that
// the other half remains a test.
//
// Format of the queries (JSON):
//
//	{"about": "…", "queries": [{"category": "type", "query": "task_struct", "want": ["linux:include/linux/sched.h"]}]}
package relevance
