package disk

// Space is the free space of a file system for this user.
type Space struct {
	FreeBytes, TotalBytes int64
	FreeFiles, TotalFiles int64 // both 0 if the file system has no such bound
}
