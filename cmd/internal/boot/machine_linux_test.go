package boot

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestControlGroupLimit(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) string {
		path = filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("memory.max", "max\n")
	write("a/memory.max", "1000\n")
	write("a/b/memory.max", "2000\n")
	write("h/memory.max", "2000\n")
	write("h/memory.high", "1500\n")
	write("memory/c/memory.limit_in_bytes", "500\n")
	write("memory/memory.limit_in_bytes", "9223372036854771712\n")
	type found struct {
		limit int64
		file  string
	}
	for membership, want := range map[string]found{
		"0::/a/b\n":                {1000, "a/memory.max"},
		"0::/h\n":                  {1500, "h/memory.high"},
		"0::/\n":                   {},
		"5:memory:/c\n4:cpu:/c\n":  {500, "memory/c/memory.limit_in_bytes"},
		"5:cpu,memory:/c/unseen\n": {500, "memory/c/memory.limit_in_bytes"},
		"5:memory:/d\n":            {},
		"":                         {},
	} {
		limit, file := controlGroupLimit(write("membership", membership), root)
		if want.file != "" {
			want.file = filepath.Join(root, want.file)
		}
		if (found{limit, file}) != want {
			t.Errorf("%q: %d of %s, want %+v", membership, limit, file, want)
		}
	}
}
