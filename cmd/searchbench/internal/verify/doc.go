// Package verify holds Quarry's answers against ripgrep's on the same files.
//
// It answers: does Quarry find the same files and the same number of matches in each, and where it does not, is there a reason?
//
// Check compares one query. A difference in a file is excused only for a reason that can be seen in that file: ripgrep was told to search binary
// files and Quarry skips them; a file is not UTF-8, and the expression can match other bytes than ASCII, which Quarry sees decoded and ripgrep raw.
// Everything else is a failure.
//
// Answers of more than maxListedMatches matches are compared by their totals only, over the files that are text.
package verify
