package bench

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFeedTakesEveryTextFile checks that text files are fed completely, with their
// symbols, that binary files are omitted, and that equal files count twice.
func TestFeedTakesEveryTextFile(t *testing.T) {
	tree := t.TempDir()
	text := "package a\n\nfunc Alpha() {}\n" + strings.Repeat("// some more text to read\n", 1000)
	for path, content := range map[string]string{"a.go": text, "b/a.go": text, "bin": "\x00\x01\x02"} {
		full := filepath.Join(tree, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	documents, err := ReadDocuments(context.Background(), tree)
	if err != nil || len(documents) != 2 {
		t.Fatalf("%d documents %v, want 2", len(documents), err)
	}
	symbols := len(documents[0].Symbols) + len(documents[1].Symbols)
	f, err := MeasureCore(documents, t.TempDir())
	if err != nil || f.TextBytes != int64(2*len(text)) || f.Symbols != symbols || symbols < 2 || f.SegmentBytes == 0 || f.Documents != 2 {
		t.Errorf("%+v %v, want %d bytes and %d symbols", f, err, 2*len(text), symbols)
	}
}

func TestTimeForAMegabyte(t *testing.T) {
	if got := (CoreFigure{TextBytes: 50e6, CPU: 2e9}).perMegabyte(); got != 40e6 {
		t.Errorf("%v ns, want 40 ms", got)
	}
	if got := (CoreFigure{}).perMegabyte(); got != 0 {
		t.Errorf("empty: %v, want 0", got)
	}
}
