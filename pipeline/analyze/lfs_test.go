package analyze_test

import (
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Pointer files of Git LFS are skipped by name; text that only looks like one is not.
func TestLFSPointers(t *testing.T) {
	hash := strings.Repeat("4d7a2146", 8)
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + hash + "\nsize 12345\n"
	a := analyze.New(analyze.Options{NoSymbols: true})
	for _, c := range []struct {
		name, content string
		want          code.SkipReason
	}{
		{"pointer", pointer, code.SkipLFSPointer},
		{"pointer with a byte order mark", "\xef\xbb\xbf" + pointer, code.SkipLFSPointer},
		{"early version", strings.Replace(pointer, "git-lfs", "hawser", 1), code.SkipLFSPointer},
		{"extension", strings.Replace(pointer, "oid", "ext-0-foo sha256:"+hash+"\noid", 1), code.SkipLFSPointer},
		{"code behind it", pointer + "package main\n", ""},
		{"code in a line", strings.Replace(pointer, "size 12345", "size 12345; rm -rf", 1), ""},
		{"text of an extension", strings.Replace(pointer, "oid", "ext-0-foo hidden text\noid", 1), ""},
		{"without a size", strings.Replace(pointer, "size 12345\n", "", 1), ""},
		{"without an ID", strings.Replace(pointer, "oid sha256:"+hash+"\n", "", 1), ""},
		{"upper case", strings.Replace(pointer, hash, strings.ToUpper(hash), 1), ""},
		{"another version", strings.Replace(pointer, "/v1", "/v9", 1), ""},
		{"no end of line", strings.TrimSuffix(pointer, "\n"), code.SkipLFSPointer},
		{"CRLF", strings.ReplaceAll(pointer, "\n", "\r\n"), code.SkipLFSPointer},
		{"CRLF, and no end of line", strings.TrimSuffix(strings.ReplaceAll(pointer, "\n", "\r\n"), "\r\n"), code.SkipLFSPointer},

		{"an old end of line", strings.ReplaceAll(pointer, "\n", "\r"), ""},
		{"an empty line", pointer + "\n", ""},
		{"version alone", "version https://git-lfs.github.com/spec/v1\n", ""},
		{"more than a pointer may have", strings.Replace(pointer, "oid", strings.Repeat("ext-0-a sha256:"+hash+"\n", 12)+"oid", 1), ""},
	} {
		if got := a.Document("big.bin", []byte(c.content)).Skipped; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if _, got := a.Decode([]byte(c.content)); got != c.want {
			t.Errorf("%s: Decode says %q, want %q", c.name, got, c.want)
		}
	}
}
