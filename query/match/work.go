package match

import "time"

// Work counts what the searches of segments read and do.
type Work struct {
	Indexing, Verifying                    time.Duration
	ContentBytes, ScannedBytes, IndexBytes int64
	Lists                                  int
	FilesConsidered, FilesLoaded           int
	SegmentsFiltered                       int
	TrigramLookups, TrigramMatches         int
	RegexpsConsidered                      int
}
