// Package core measures only the core of Quarry's indexing: writing trigrams, frames and
// symbols to segments, on one thread.
//
// It answers: how many megabytes of text does the segment builder process in a second of
// CPU time?
//
// Read loads the text files of source trees into memory and finds language and symbols,
// which is not measured. Feed passes them to a segment.Builder, segment after segment of
// the default size, written to files, and measures the CPU time of the whole process,
// including garbage collection and the writing of files. The measurement contains no git,
// no reading of files, no detection of languages, and no parsing.
//
// A process should measure only once, because earlier work leaves garbage.
package core
