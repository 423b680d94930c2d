//go:build unix

package disk

import (
	"syscall"
	"testing"
)

// TestDirectoryIsUnlockedBesideACopy closes a directory while another copy of its open file
// exists, as in a program that this process is starting. The directory can be locked again.
func TestDirectoryIsUnlockedBesideACopy(t *testing.T) {
	dir := t.TempDir()
	first, err := LockDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	copied, err := syscall.Dup(int(first.file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(copied) }() // nothing was written to it
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := LockDirectory(dir)
	if err != nil {
		t.Fatalf("after Close: %v, want the lock", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}
