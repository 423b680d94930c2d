// Package verify holds Quarry's answers against ripgrep's on the same files.
//
// It answers: does Quarry find the same files and the same number of matches in each, and where it does not, is there a reason?
//
// Check compares one query. A difference in a file is accepted only for a visible reason: ripgrep searches every file, and the server lists this
// one among those that it skips; or the file is not UTF-8, and the expression can match other bytes than ASCII, which Quarry sees decoded and
// ripgrep raw. Everything else is a failure.
//
// Answers of more than maxListedMatches matches, or more bytes than a server answers with, are requested in parts: by repository, then by folder.
// The listed matches are also compared with the counts.
package verify
