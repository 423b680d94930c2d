package mirror

import (
	"errors"
	"testing"
)

// TestFileThatBecomesADirectory compares a file with a directory of the same name, which ends in a
// slash, where directories are too deep: what the bound cuts off is an error, before and after.
func TestFileThatBecomesADirectory(t *testing.T) {
	file := Name{Raw: "a/", ID: ObjectID{sum: [32]byte{1}}, Mode: 0o100644}
	directory := Name{Raw: "a/", ID: ObjectID{sum: [32]byte{2}}, Mode: 0o40000}
	for _, c := range []struct {
		name     string
		old, new Name
		changes  int
	}{{"a file becomes a directory", file, directory, 1}, {"a directory becomes a file", directory, file, 0}} {
		changes := 0
		d := &treeDiff{t: &Trees{}, fn: func(string, Entry, Entry) error { changes++; return nil }}
		if err := d.compareName(t.Context(), "", c.old, c.new, maxTreeDepth); !errors.Is(err, ErrTooLarge) || changes != c.changes {
			t.Errorf("%s: %v after %d changes, want %v after %d", c.name, err, changes, ErrTooLarge, c.changes)
		}
	}
}
