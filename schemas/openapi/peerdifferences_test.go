package openapi_test

// peerDifferences are the deliberate differences. Quarry bounds values that the peer
// leaves unbounded, because anybody may send a request. It rejects a value beyond a bound
// with 400, which the peer's clients expect.
var peerDifferences = []peerDifference{
	// Requests: bounds.
	{"list*: query page: maximum is 1073741824", "a higher page is empty in any case"},
	{"*: query repo: maxLength is 512", "no repository has a longer name"},
	{"find*: request repoName: maxLength is 512", "no repository has a longer name"},
	{"find*: request revisionName: maxLength is 1024", "no ref has a longer name"},
	{"find*: request language: maxLength is 64", "no language has a longer name"},
	{"find*: request symbolName: maxLength is 256", "bounds the pattern that is searched for"},
	{"list*: query *: maxLength is 1024", "bounds the pattern that is searched for"},
	{"listCommits: query *: maxLength is 100", "since and until are times, which are short"},
	{"listRepositories: query connectionId: maximum is 9007199254740991", "no connection has a higher ID"},
	{"search: request contextLines: maximum is 1000", "bounds the size of an answer"},
	{"getFileTree: request paths: maxItems is 200", "bounds the work of a request"},
	{"createScopedAccessToken: request repoIds: maxItems is 1000", "bounds the size of a token's record"},
	{"revokeScopedAccessToken: path id: maxLength is 64", "no token has a longer ID"},
	{"*User: query userId: maxLength is 256", "no user has a longer ID"},

	// Requests: meaningless values, which the peer accepts and answers with an empty
	// result or a failure.
	{"search: request *: type is integer, not number", "a fraction of a match or of a line; 10.0 is an integer in JSON"},
	{"search: request matches: minimum is 1", "a search for no match"},
	{"search: request query: minLength is 1", "the empty query; the peer refuses it, too"},
	{"search: request contextLines: minimum is 0", "a negative number of lines"},
	{"find*: request symbolName: minLength is 1", "the symbol without a name"},
	{"find*: request symbolName: pattern is *", "a symbol with a line break in its name"},
	{"getDiff: query *: minLength is 1", "the revision without a name; the peer refuses it, too"},
	{"getCommit: query ref: minLength is 1", "the revision without a name; the peer refuses it, too"},
	{"getFileTree: request revisionName: minLength is 1", "the revision without a name; the peer refuses it, too"},
	{"revokeScopedAccessToken: path id: minLength is 1", "an empty path segment is another path"},
	{"*User: query userId: minLength is 1", "the user without an ID; the peer refuses it, too"},

	// Credentials.
	{"*User*: anonymous is not accepted", "the peer declares it and answers 401 or 403; only owners may read users"},
	{"listAuditRecords: anonymous is not accepted", "the peer declares it and answers 401 or 403; only owners may read the log"},
}
