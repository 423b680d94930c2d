package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// LogDir returns the directory of the embedded log.
func (c *Config) LogDir() string { return c.storagePath(c.Storage.Log, "log") }

// SegmentsDir returns the directory of the segment store, which is not used if it is in a
// bucket.
func (c *Config) SegmentsDir() string {
	if c.SegmentsInBucket() {
		return filepath.Join(c.Data, "segments")
	}
	return c.SegmentsPlace()
}

// SegmentsPlace returns the directory or the address of the segment store, for messages.
func (c *Config) SegmentsPlace() string { return c.storagePath(c.Storage.Segments, "segments") }

// bucketScheme begins a segment store in a bucket.
const bucketScheme = "s3://"

// SegmentsInBucket reports whether the segment store is in a bucket.
func (c *Config) SegmentsInBucket() bool { return strings.HasPrefix(c.Storage.Segments, bucketScheme) }

// SegmentsBucket returns the bucket and the folder of a segment store in a bucket.
func (c *Config) SegmentsBucket() (bucket, folder string) {
	bucket, folder, _ = strings.Cut(strings.TrimPrefix(c.Storage.Segments, bucketScheme), "/")
	return bucket, strings.Trim(folder, "/")
}

// SharesSegments reports whether other processes may use the segment store, or its
// directory may be unmounted: the log is on brokers, or the directory was chosen.
func (c *Config) SharesSegments() bool { return c.Log.Driver == "kafka" || c.Storage.Segments != "" }

// ProjectionsDir returns the directory of the projections.
func (c *Config) ProjectionsDir() string { return c.storagePath(c.Storage.Projections, "projections") }

// AccountsDir returns the directory of the rows of accounts and audit log.
func (c *Config) AccountsDir() string { return c.storagePath(c.Storage.Accounts, "accounts") }

// MirrorsDir returns the directory of the git mirrors.
func (c *Config) MirrorsDir() string { return c.storagePath(c.Storage.Mirrors, "mirrors") }

func (c *Config) storagePath(set, name string) string {
	if set != "" {
		return set
	}
	return filepath.Join(c.Data, name)
}

// TempDir returns the directory of segments that are being built.
func (c *Config) TempDir() string { return filepath.Join(c.Data, "tmp") }

// MergesDir returns the directory of segments that are being merged.
func (c *Config) MergesDir() string { return filepath.Join(c.Data, "merges") }

// ScipDir returns the directory of precise indexes that are being uploaded or opened.
func (c *Config) ScipDir() string { return filepath.Join(c.Data, "scip") }

// ChosenDirectories returns the directories that the settings name: the data directory,
// and the storage directories that are set.
func (c *Config) ChosenDirectories() []string {
	out := []string{c.Data}
	for _, s := range c.storageDirectories() {
		if s.set != "" {
			out = append(out, s.set)
		}
	}
	return out
}

// OwnDirectories returns the directories that Quarry creates in the data directory.
func (c *Config) OwnDirectories() []string {
	out := []string{c.TempDir(), c.MergesDir(), c.ScipDir()}
	for _, s := range c.storageDirectories() {
		if s.set == "" {
			out = append(out, s.path)
		}
	}
	return out
}

// storageDirectory is a storage directory: its setting and its path.
type storageDirectory struct{ set, path string }

func (c *Config) storageDirectories() []storageDirectory {
	out := []storageDirectory{
		{c.Storage.Log, c.LogDir()}, {c.Storage.Projections, c.ProjectionsDir()}, {c.Storage.Accounts, c.AccountsDir()}, {c.Storage.Mirrors, c.MirrorsDir()},
	}
	if !c.SegmentsInBucket() {
		out = slices.Insert(out, 1, storageDirectory{c.Storage.Segments, c.SegmentsDir()})
	}
	return out
}
