package indexer

import (
	"fmt"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestReturnVisitsFewDirectories returns to the first commit of a repository with many
// directories. No live commit contains the former blob, whose reading is known; to be sure,
// all of them would have to be visited, which costs more than to read the blob.
func TestReturnVisitsFewDirectories(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 2 * minWalk {
		b.repo.Write(fmt.Sprintf("d%03d/a.go", i), fmt.Sprintf("package p%d\n", i))
	}
	b.repo.Write("z/last.go", "package first\n")
	first := b.repo.Commit()
	b.registerRepository()
	second := b.repo.CommitFiles("z/last.go", "package second\n")
	b.push("main")
	m := b.mirrors.Mirror(b.code.ID)
	trees, err := m.Trees(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer trees.Close()
	const main code.Ref = "refs/heads/main"
	h := &indexRun{
		x: b.x, m: m, repo: b.code.ID, head: main, trees: trees, readings: readingsOf(m), indexed: map[code.Ref]code.CommitID{main: second},
		parsed: parsedAttributes{}, checkedTrees: map[mirror.ObjectID]bool{},
	}
	back := &refChange{revision: revision{repo: b.code.ID, Revision: code.Revision{Ref: main, Commit: first}, head: main}, base: code.Revision{Ref: main, Commit: second}}
	batch := newBatch()
	if err := h.addRef(t.Context(), batch, back); err != nil {
		t.Fatal(err)
	}
	compared := trees.ObjectsRead()
	if err := h.nameKnown(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if got := trees.ObjectsRead() - compared; got == 0 || got > minWalk+walkPerBlob+2 {
		t.Errorf("%d objects were read for a blob of 14 bytes, want 1 to %d", got, minWalk+walkPerBlob+2)
	}
	if len(batch.items) != 1 || len(batch.items[0].places) != 1 {
		t.Errorf("%+v, want a blob to be read", batch.items)
	}
}
