// Package verify compares Quarry's answers with ripgrep's on the same files.
//
// It answers: does Quarry find the same files and the same number of matches in each, and
// if not, is there a reason?
//
// Check compares one query. A difference in a file is accepted only for one of two
// reasons. The server lists the file as skipped, while ripgrep searches every file. Or
// the file is not UTF-8 and the expression can match non-ASCII bytes, which Quarry
// decodes and ripgrep does not. Every other difference is a failure.
//
// Answers with more than maxListedMatches matches, or more bytes than a server returns,
// are requested in parts: by repository, then by folder. The listed matches are also
// compared with the counts.
package verify
