package disk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestAllocateTakesItsSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	err := Allocate(path, 1<<20)
	if errors.Is(err, syscall.EOPNOTSUPP) && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skip("this file system cannot allocate")
	}
	var s syscall.Stat_t
	if err := errors.Join(err, syscall.Stat(path, &s)); err != nil || s.Blocks*512 < 1<<20 {
		t.Errorf("%d blocks, %v", s.Blocks, err)
	}
	if err := Allocate(path, 1<<62); err == nil {
		t.Error("a file larger than the disk was allocated")
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after a failure: %v, want %v", err, os.ErrNotExist)
	}
}
