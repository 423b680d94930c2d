// Package suite has the queries of a measurement and writes each of them in the language of each program.
//
// It answers: which queries does every engine get, and do they mean the same?
//
// A Query is written as zoekt reads it. Quarry reports the same question through Quarry's language; Plain gives the regular expressions for
// ripgrep where a query is no more than terms and filters on repositories and paths.
//
// Format of a file of queries (JSON):
//
//	{"about": "…", "queries": [{"class": "phrase", "name": "phrase-oom", "query": "\"out of memory\"", "limit": 100, "mix": "interactive"}]}
//
// limit N means at most N matches; 0 the exact number of all. The package is pure: it reads bytes and starts nothing.
package suite
