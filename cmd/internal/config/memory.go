package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// These are shares of the memory that a process may use. docs/scaling.md has a table of
// the resulting settings, tested under load.
const (
	// memoryShare is the percentage of a limit that the process uses. The rest is for the
	// kernel's page cache, which a control group counts as well.
	memoryShare = 85
	// unlimitedBase and unlimitedPerCPU define how much memory a process uses on a
	// machine without a limit, because other programs need memory as well.
	unlimitedBase   = 1 << 30
	unlimitedPerCPU = 256 << 20
	// programBytes is the memory that neither a setting nor the Go heap bounds: the
	// program itself and Pebble's tables of rows that are not on disk yet.
	programBytes = 80 << 20
	// gitBytes is the memory of a git process: its delta cache, and packs.
	gitBytes = 48 << 20
	// fileBytes is the memory per file while a repository is imported.
	fileBytes = 600
	maxFiles  = 4_000_000
	// builderFactor is the memory for building a segment, as a percentage of its text.
	builderFactor = 160
	// maxFramesBytes and maxBlocksBytes bound the caches on large machines: beyond them
	// the page cache works as well.
	maxFramesBytes = 4 << 30
	maxBlocksBytes = 1 << 30
	mebibyte       = 1 << 20
)

// MemoryLimit is the memory that a process may use, and the source of the limit.
type MemoryLimit struct {
	// TotalBytes bounds the memory of the process and its git commands together.
	TotalBytes int64
	// LimitBytes and Source are the limit from which TotalBytes was derived.
	LimitBytes int64
	Source     string
}

// LimitMemory returns the memory that a process may use: runtime.memoryBytes, or a share
// of the lower of the control group's limit and the machine's memory. A group of 0 means
// no limit. GOMEMLIMIT lowers the result.
func (c *Config) LimitMemory(machine, group int64, groupFile string, environ []string, processors int) MemoryLimit {
	out := MemoryLimit{LimitBytes: machine, Source: "machine"}
	out.TotalBytes = min(machine/100*memoryShare, unlimitedBase+int64(processors)*unlimitedPerCPU)
	if machine <= 0 {
		out = MemoryLimit{TotalBytes: unlimitedBase, Source: "unknown"}
	}
	if group > 0 && (machine <= 0 || group < machine) {
		out = MemoryLimit{group / 100 * memoryShare, group, groupFile}
	}
	if n := goMemoryLimit(environ); n > 0 && n < out.TotalBytes {
		out = MemoryLimit{n, n, "GOMEMLIMIT"}
	}
	if n := int64(c.Runtime.MemoryBytes); n > 0 {
		out = MemoryLimit{n, n, "runtime.memoryBytes"}
	}
	return out
}

// goMemoryLimit parses GOMEMLIMIT as the Go runtime does. It returns 0 if the variable is
// not set, is not a size, or means no limit.
func goMemoryLimit(environ []string) int64 {
	for _, pair := range environ {
		text, ok := strings.CutPrefix(pair, "GOMEMLIMIT=")
		if !ok {
			continue
		}
		factor := int64(1)
		for _, unit := range byteUnits {
			if number, ok := strings.CutSuffix(text, unit.suffix); ok && unit.suffix != "" {
				text, factor = number, unit.size
				break
			}
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/factor {
			return 0
		}
		return n * factor
	}
	return 0
}

// FitMemory sets the memory settings that are 0 for the given total and number of
// processors.
func (c *Config) FitMemory(total int64, processors int) {
	fitBytes(&c.Pipeline.SegmentBytes, segmentBytesFor(total))
	segment := int64(c.Pipeline.SegmentBytes) / 100 * builderFactor
	fitNumber(&c.Pipeline.Builders, total*2/5/(segment+gitBytes), processors)
	fitNumber(&c.Pipeline.Concurrency, max(2, total/8/gitBytes), 2*processors)
	fitNumber(&c.Pipeline.MaxFiles, total/3/fileBytes, maxFiles)
	fitBytes(&c.Query.TotalMemoryBytes, clampInt64(total/8, 32*mebibyte, 1<<30))
	fitBytes(&c.Query.MaxMemoryBytes, int64(c.Query.TotalMemoryBytes)/4*3)
	fitBytes(&c.Cache.LogBytes, clampInt64(total/128, 4*mebibyte, 16*mebibyte))

	rest := max(0, total-c.fixedBytes()-c.workBytes())
	fitBytes(&c.Cache.FramesBytes, clampInt64(rest*2/5, 16*mebibyte, maxFramesBytes))
	fitBytes(&c.Cache.BlocksBytes, clampInt64(rest/8, 8*mebibyte, maxBlocksBytes))
	fitBytes(&c.Runtime.MemoryLimitBytes, max(total-c.fixedBytes()-c.cacheBytes(), 96*mebibyte))
}

// segmentBytesFor returns the size of a segment's text. The larger the segments, the
// fewer a query visits.
func segmentBytesFor(total int64) int64 {
	switch {
	case total >= 1200*mebibyte:
		return 128 * mebibyte
	case total >= 640*mebibyte:
		return 64 * mebibyte
	}
	return 32 * mebibyte
}

// fixedBytes returns the memory of the process and its git commands without caches and
// heap.
func (c *Config) fixedBytes() int64 {
	git := int64(0)
	if c.Has(RolePipeline) {
		git = gitBytes * int64(c.Pipeline.Concurrency+c.Pipeline.Builders-1)
	}
	return programBytes + git
}

// workBytes returns the memory that imports, merges and searches use in the Go heap.
func (c *Config) workBytes() int64 {
	if !c.Has(RolePipeline) {
		return int64(c.Query.TotalMemoryBytes)
	}
	// One builder more accounts for segments too small to wait for a slot, and for
	// garbage.
	builders := int64(c.Pipeline.SegmentBytes) / 100 * builderFactor * int64(c.Pipeline.Builders+1)
	return builders + int64(c.Query.TotalMemoryBytes)
}

// cacheBytes returns the memory of the caches outside of the Go heap. Pebble's blocks are
// allocated by the C library, which may need twice as much because of fragmentation.
func (c *Config) cacheBytes() int64 {
	return int64(c.Cache.FramesBytes + 2*c.Cache.BlocksBytes + 2*c.Cache.LogBytes)
}

// PlannedBytes returns the maximum memory of the process and its git commands with these
// settings.
func (c *Config) PlannedBytes() int64 {
	return c.fixedBytes() + c.cacheBytes() + int64(c.Runtime.MemoryLimitBytes)
}

// MemoryAttributes returns the memory bounds as key-value pairs for a log line.
func (c *Config) MemoryAttributes(l MemoryLimit) []any {
	return []any{
		"limit_bytes", l.LimitBytes, "source", l.Source, "total_bytes", l.TotalBytes, "planned_bytes", c.PlannedBytes(),
		"go_heap_bytes", int64(c.Runtime.MemoryLimitBytes), "frames_bytes", int64(c.Cache.FramesBytes), "blocks_bytes", int64(c.Cache.BlocksBytes),
		"log_bytes", int64(c.Cache.LogBytes), "searches_bytes", int64(c.Query.TotalMemoryBytes),
		"segment_bytes", int64(c.Pipeline.SegmentBytes), "builders", c.Pipeline.Builders, "concurrency", c.Pipeline.Concurrency,
	}
}

// fitBytes sets a size that is 0 to n, in whole MiB.
func fitBytes(size *Bytes, n int64) {
	if *size == 0 {
		*size = Bytes(max(n/mebibyte, 1) * mebibyte)
	}
}

// fitNumber sets a number that is 0 to n, but to at least 1 and at most most.
func fitNumber(number *int, n int64, most int) {
	if *number == 0 {
		*number = int(clampInt64(n, 1, int64(max(most, 1))))
	}
}

func clampInt64(n, least, most int64) int64 { return min(max(n, least), most) }

// CheckPlan returns a warning if the settings need more than the total.
func (c *Config) CheckPlan(l MemoryLimit) string {
	if planned := c.PlannedBytes(); planned > l.TotalBytes {
		return fmt.Sprintf("the settings allow the server to use %d MiB of memory, but only %d MiB are available (%s): lower cache.framesBytes, cache.blocksBytes, pipeline.builders and runtime.memoryLimitBytes, or remove them to use automatic values",
			planned>>20, l.TotalBytes>>20, l.Source)
	}
	return ""
}
