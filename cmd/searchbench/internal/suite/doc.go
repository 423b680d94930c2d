// Package suite holds the queries of a measurement and says each of them in the words of the program that is asked.
//
// It answers: what is asked of every engine, and is it the same question?
//
// A Query is written as zoekt reads it. Quarry reports the same question through Quarry's language; Plain gives the regular expressions for
// ripgrep where a query is no more than terms and filters on repositories and paths.
//
// Format of a file of queries (JSON):
//
//	{"about": "…", "queries": [{"class": "phrase", "name": "phrase-oom", "query": "\"out of memory\"", "limit": 100, "mix": "interactive"}]}
//
// limit N asks for at most N matches; 0 for the exact number of all. The package is pure: it reads bytes and starts nothing.
package suite
