package indexer

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/schemas/code"
)

// zlibWriters are shared by tests, because a new writer allocates a megabyte.
var zlibWriters = sync.Pool{New: func() any {
	w, err := zlib.NewWriterLevel(nil, zlib.BestSpeed)
	if err != nil {
		panic(err)
	}
	return w
}}

// writeCompressed writes content to w as git stores it.
func (b *bench) writeCompressed(w io.Writer, content []byte) {
	b.t.Helper()
	z := zlibWriters.Get().(*zlib.Writer)
	defer zlibWriters.Put(z)
	z.Reset(w)
	_, err := z.Write(content)
	if err = errors.Join(err, z.Close()); err != nil {
		b.t.Fatal(err)
	}
}

// nameObject returns an object with its header, and its name.
func nameObject(kind string, content []byte) (object []byte, id [sha1.Size]byte) {
	object = append(fmt.Appendf(nil, "%s %d\x00", kind, len(content)), content...)
	return object, sha1.Sum(object)
}

// forge writes an unchecked object, as a hostile program would, and returns its name.
func (b *bench) forge(kind string, content []byte) (id [sha1.Size]byte) {
	b.t.Helper()
	object, id := nameObject(kind, content)
	name := hex.EncodeToString(id[:])
	dir := filepath.Join(b.repo.Dir, ".git", "objects", name[:2])
	var packed bytes.Buffer
	b.writeCompressed(&packed, object)
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name[2:]), packed.Bytes(), 0o644)); err != nil {
		b.t.Fatal(err)
	}
	return id
}

// forgeChain writes a chain of tree objects as one pack, because thousands of files would
// take seconds: the first has the given content, and each has the one before it as the
// directory d. It returns the content of the last, which it does not write.
func (b *bench) forgeChain(first []byte, length int) (tree []byte) {
	b.t.Helper()
	pack := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(length))
	tree = first
	for range length {
		const kindTree, continues = 2 << 4, 0x80
		// Four bits of the size are next to the kind, the rest follows.
		if len(tree) < 16 || len(tree) >= 1<<11 {
			b.t.Fatalf("a tree of %d bytes in a chain", len(tree))
		}
		pack = append(pack, continues|kindTree|byte(len(tree)&15), byte(len(tree)>>4))
		compressed := bytes.NewBuffer(pack)
		b.writeCompressed(compressed, tree)
		pack = compressed.Bytes()
		_, id := nameObject("tree", tree)
		tree = forgedEntry("40000", "d", id)
	}
	sum := sha1.Sum(pack)
	path := filepath.Join(b.repo.Dir, ".git", "objects", "pack", fmt.Sprintf("pack-%x.pack", sum))
	if err := os.WriteFile(path, append(pack, sum[:]...), 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.repo.Git("index-pack", path)
	return tree
}

// forgedEntry is an entry of a tree object.
func forgedEntry(mode, name string, id [sha1.Size]byte) []byte {
	return append(fmt.Appendf(nil, "%s %s\x00", mode, name), id[:]...)
}

// TestHostileTrees pushes branches with trees that git would never write. Valid paths are
// indexed, and invalid ones are skipped with a reason. A tree beyond a bound is a
// permanent failure of its repository, until the branch is deleted.
func TestHostileTrees(t *testing.T) {
	long := strings.Repeat("n", 4096)
	for _, test := range []struct {
		name string
		tree func(b *bench, file [sha1.Size]byte) []byte
		// paths counts the indexed paths, invalid those skipped as invalid.
		paths, invalid int
		tooLarge       bool
	}{
		{name: "a name twice", paths: 1, tree: func(_ *bench, file [sha1.Size]byte) []byte {
			return slices.Concat(forgedEntry("100644", "a.go", file), forgedEntry("100644", "a.go", file))
		}},
		{name: "a name as a file and as a directory", paths: 2, tree: func(b *bench, file [sha1.Size]byte) []byte {
			inner := b.forge("tree", forgedEntry("100644", "b.go", file))
			return slices.Concat(forgedEntry("100644", "a", file), forgedEntry("40000", "a", inner))
		}},
		{name: "names out of order", paths: 3, tree: func(_ *bench, file [sha1.Size]byte) []byte {
			return slices.Concat(forgedEntry("100644", "z.go", file), forgedEntry("100644", "a.go", file), forgedEntry("100644", "m.go", file))
		}},
		{name: "names twice and out of order", paths: 3, tree: func(_ *bench, file [sha1.Size]byte) []byte {
			return slices.Concat(forgedEntry("100644", "z.go", file), forgedEntry("100644", "a.go", file), forgedEntry("100644", "m.go", file), forgedEntry("100644", "a.go", [sha1.Size]byte{1}))
		}},
		{name: "names that lead out", paths: 2, invalid: 5, tree: func(b *bench, file [sha1.Size]byte) []byte {
			inner := b.forge("tree", forgedEntry("100644", "passwd", file))
			return slices.Concat(
				forgedEntry("100644", "..", file), forgedEntry("40000", "..x/..", inner), forgedEntry("40000", ".", inner), forgedEntry("40000", ".git", inner),
				forgedEntry("40000", "../../etc", inner), forgedEntry("100644", "/root.go", file), forgedEntry("100644", "a.go", file))
		}},
		{name: "a name of 4 kB", paths: 2, invalid: 1, tree: func(b *bench, file [sha1.Size]byte) []byte {
			inner := b.forge("tree", forgedEntry("100644", long, file))
			return slices.Concat(forgedEntry("100644", "a.go", file), forgedEntry("40000", "d", inner), forgedEntry("100644", long, file))
		}},
		{name: "10,000 directories deep", tooLarge: true, tree: func(b *bench, file [sha1.Size]byte) []byte {
			return b.forgeChain(forgedEntry("100644", "a.go", file), 10_000)
		}},
		{name: "directories that hold each other 2^60 times", tooLarge: true, tree: func(b *bench, file [sha1.Size]byte) []byte {
			tree := forgedEntry("100644", "a.go", file)
			for range 60 {
				id := b.forge("tree", tree)
				tree = slices.Concat(forgedEntry("40000", "a", id), forgedEntry("40000", "b", id))
			}
			return tree
		}},
		{name: "a million entries", tooLarge: true, tree: func(_ *bench, file [sha1.Size]byte) []byte {
			var tree []byte
			for i := range 1_000_000 {
				tree = append(tree, forgedEntry("100644", fmt.Sprintf("%07d", i), file)...)
			}
			return tree
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "**")
			b.x.o.MaxFiles = 100_000
			b.repo.CommitFiles("kept.go", "package kept\n")
			b.registerRepository()
			file := b.forge("blob", []byte("package forged\n"))
			ref := filepath.Join(b.repo.Dir, ".git", "refs", "heads", "forged")
			push := func(tree []byte) error {
				commit := b.forge("commit", fmt.Appendf(nil, "tree %x\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nforged\n", b.forge("tree", tree)))
				if err := os.WriteFile(ref, fmt.Appendf(nil, "%x\n", commit), 0o644); err != nil {
					t.Fatal(err)
				}
				return b.handle(b.pushOf("forged", 2))
			}
			forged := test.tree(b, file)
			err := push(forged)
			switch {
			case test.tooLarge && (!errors.Is(err, mirror.ErrTooLarge) || !errors.Is(err, worker.ErrPermanent)):
				t.Fatalf("%v, want ErrTooLarge for good", err)
			case !test.tooLarge && err != nil:
				t.Fatal(err)
			}
			paths, invalid := 0, 0
			for path, change := range b.refs["refs/heads/forged"] {
				if change.Skipped == code.SkipInvalidPath {
					invalid++
				} else {
					paths++
				}
				if name, valid := code.NamePath(path); !valid || name != path || len(path) > code.MaxPathBytes {
					t.Errorf("the path %.100q is in an event", path)
				}
			}
			if paths != test.paths || invalid != test.invalid {
				t.Errorf("%d paths and %d that are invalid, want %d and %d: %.500q", paths, invalid, test.paths, test.invalid, slices.Collect(maps.Keys(b.refs["refs/heads/forged"])))
			}
			if !test.tooLarge { // to a valid tree, and back
				first := maps.Clone(b.refs["refs/heads/forged"])
				if err := push(slices.Concat(forgedEntry("100644", "a.go", file), forgedEntry("100644", "m.go", file), forgedEntry("100644", "z.go", file))); err != nil {
					t.Fatal(err)
				}
				b.check("main", "forged")
				if err := push(forged); err != nil {
					t.Fatal(err)
				}
				if got := b.refs["refs/heads/forged"]; !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(first))) {
					t.Errorf("after a tree of git it has %.500q, want %.500q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(first)))
				}
			}
			if err := os.Remove(ref); err != nil {
				t.Fatal(err)
			}
			b.repo.CommitFiles("more.go", "package more\n")
			b.must(b.refreshOf(""))
			b.check("main")
		})
	}
}
