package ondisk

// Bounds of the data read from a repository.
const (
	// maxLineFileBytes bounds HEAD, a loose ref, commondir and a file "gitdir: PATH".
	maxLineFileBytes = 8 << 10
	// maxConfigBytes bounds the configuration, which names every remote and branch of a
	// work tree.
	maxConfigBytes = 4 << 20
	// maxAlternatesBytes bounds a list of object directories.
	maxAlternatesBytes = 64 << 10
	// minFileBytes is the minimum size at which a copied file is counted: a block and an
	// inode.
	minFileBytes = 4 << 10
	// maxRefsBytes bounds packed-refs and shallow: a million names of ordinary length.
	maxRefsBytes = 64 << 20
	// maxRefs bounds the refs below one prefix.
	maxRefs = 200_000
	// maxRefDepth bounds the directories in the name of a ref.
	maxRefDepth = 64
	// maxSymbolicRefs bounds a chain of symbolic refs; git's bound is 5.
	maxSymbolicRefs = 5
	// maxObjectFiles bounds the files in one directory of objects. git packs loose
	// objects when a directory contains some 27.
	maxObjectFiles = 100_000
	// maxObjectDirectories bounds the object directories that a repository borrows from;
	// maxAlternateDepth bounds the length of a chain of them; git's bound is 5.
	maxObjectDirectories = 64
	maxAlternateDepth    = 5
	// readDirChunk is the number of names read from a directory in one call.
	readDirChunk = 1024
)
