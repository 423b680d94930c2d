// Package core measures the core of Quarry's indexing alone: trigrams, frames and symbols into segments, on one thread.
//
// It answers: how many megabytes of text does the segment builder take in a second of processor time?
//
// Read brings the text files of source trees into memory and finds language and symbols, unmeasured. Feed gives them to a segment.Builder, segment
// after segment of the default size, written to files, and takes the processor time of the whole process before and after: garbage collection and
// the writing of files count. There is no git in it, no reading of files, no detection of languages, no parsing.
//
// A process should measure once: what ran before leaves garbage.
package core
