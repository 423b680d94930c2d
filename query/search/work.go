package search

import "time"

// work counts what the searches of segments read and do.
type work struct {
	Indexing, Verifying                    time.Duration
	ContentBytes, ScannedBytes, IndexBytes int64
	Lists                                  int
	FilesConsidered, FilesLoaded           int
	SegmentsFiltered                       int
	TrigramLookups, TrigramMatches         int
	RegexpsConsidered                      int
}
