package disk

import (
	"errors"
	"strings"
	"testing"
)

func TestLockDirectory(t *testing.T) {
	dir := t.TempDir() + "/data"
	first, err := LockDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = LockDirectory(dir)
	if !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "process") {
		t.Errorf("second lock: %v, want ErrHeld that names the process", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := LockDirectory(dir)
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	_ = again.Close()
}
