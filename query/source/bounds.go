package source

// Bounds that are not options.
const (
	// MaxFiles bounds the paths of Files: the Linux kernel has about 80,000.
	MaxFiles = 500_000
	// MaxEntries bounds the entries of all directories in one result.
	MaxEntries = 100_000
	// MaxTreePaths bounds the paths that Tree opens.
	MaxTreePaths = 200
	// maxTreeDirectories bounds the directories on the way to these paths.
	maxTreeDirectories = 2000
	// MaxPatternBytes bounds a regular expression on commits.
	MaxPatternBytes = 1024
	// MaxHistoryLines bounds the range of lines whose history is read.
	MaxHistoryLines = 1000
	// MaxSkippedCommits bounds how many commits a page may skip.
	MaxSkippedCommits = 10_000_000
)
