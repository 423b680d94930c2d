// Package suite contains the queries of a measurement and translates them for each
// program.
//
// It answers: which queries does every engine get, and do they mean the same?
//
// A Query is in zoekt's language. Quarry translates it to Quarry's language. Plain
// returns regular expressions for ripgrep if a query consists only of terms and filters
// on repositories and paths.
//
// Format of a file of queries (JSON):
//
//	{"about": "…", "queries": [{"class": "phrase", "name": "phrase-oom", "query": "\"out of memory\"", "limit": 100, "mix": "interactive"}]}
//
// limit N means at most N matches; 0 means the exact number of all. The package is pure:
// it reads bytes and starts nothing.
package suite
