// Package random draws queries from the text of the corpora.
//
// It answers: how does an engine do on queries that it was not tuned for?
//
//	ReadSample   reads some files of each tree, and counts their identifiers
//	Draw         draws queries of every family, with filters and limits
//
// A family is a way to make a query from text: an identifier of some frequency, a phrase,
// a piece of a line that crosses tokens, an expression of a small grammar, a symbol, a
// path, a word that does not occur. A third of the queries that match text also get a
// filter on repositories, paths or languages, or an excluded path. Queries are in zoekt's
// language and are never listed anywhere: a new seed gives new ones.
//
// The same seed and the same trees give the same queries. The package reads files and
// starts nothing.
package random
