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
	if _, _, ok := c.SegmentsBucket(); ok {
		return filepath.Join(c.Data, "segments")
	}
	return c.storagePath(c.Storage.Segments, "segments")
}

// bucketScheme begins a segment store in a bucket.
const bucketScheme = "s3://"

// SegmentsBucket returns the bucket and the folder of the segment store, and reports
// whether it is in a bucket.
func (c *Config) SegmentsBucket() (bucket, folder string, ok bool) {
	rest, ok := strings.CutPrefix(c.Storage.Segments, bucketScheme)
	bucket, folder, _ = strings.Cut(rest, "/")
	return bucket, strings.Trim(folder, "/"), ok
}

// SegmentsPlace returns the directory or the address of the segment store, for messages.
func (c *Config) SegmentsPlace() string {
	if _, _, ok := c.SegmentsBucket(); ok {
		return c.Storage.Segments
	}
	return c.SegmentsDir()
}

// NoIdentity, as Storage.ReplacesIdentity, accepts an empty segment store before the log
// records an identity.
const NoIdentity = "none"

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
	if _, _, ok := c.SegmentsBucket(); !ok {
		out = slices.Insert(out, 1, storageDirectory{c.Storage.Segments, c.SegmentsDir()})
	}
	return out
}
