package precise_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/quarrysearch/quarry/projections/scip"
	"github.com/quarrysearch/quarry/projections/scip/sciptest"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/query/precise"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	commit  = code.CommitID("1111111111111111111111111111111111111111")
	boil    = "scip-go gomod example.com/pot v1 `pot`/Boil()."
	boilV2  = "scip-go gomod example.com/pot v2 `pot`/Boil()."
	kettle  = "scip-go gomod example.com/pot v1 `pot`/Kettle#"
	ware    = "scip-go gomod example.com/ware v1 `ware`/Ware#"
	potText = "package pot\n\nfunc Boil() {}\n\ntype Kettle struct{}\n\nfunc run() { x := 1; Boil(); _ = x }\n"
)

// world holds a catalog, a log and the files of a commit for one Store.
type world struct {
	t       *testing.T
	store   *precise.Store
	objects *segmentstore.Directory
	dir     string
	files   map[string]string
	rows    map[code.RepositoryID][]event.ScipUploaded
	// waiting holds the part of the log that CatchUp applies to rows.
	waiting []event.Event
	lagging bool
	failing error
}

func newWorld(t *testing.T, change func(*precise.Options)) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir() + "/scip", files: map[string]string{"pot.go": potText}, rows: map[code.RepositoryID][]event.ScipUploaded{}}
	var err error
	if w.objects, err = segmentstore.OpenDirectory(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	o := precise.Options{Uploads: w, Log: w, Files: w, Objects: w.objects, Directory: w.dir}
	if change != nil {
		change(&o)
	}
	if w.store, err = precise.New(o); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) Uploads(id code.RepositoryID) []event.ScipUploaded      { return w.rows[id] }
func (w *world) AllUploads() map[code.RepositoryID][]event.ScipUploaded { return w.rows }

func (w *world) Announce(_ context.Context, ev event.Event) (event.Position, error) {
	if w.failing != nil {
		return event.Position{}, w.failing
	}
	w.waiting = append(w.waiting, ev)
	if w.lagging {
		return event.Position{}, nil
	}
	return event.Position{}, w.CatchUp(w.t.Context())
}

func (w *world) CatchUp(context.Context) error {
	for _, ev := range w.waiting {
		switch e := ev.(type) {
		case *event.ScipUploaded:
			w.rows[e.Repository] = append([]event.ScipUploaded{*e}, w.rows[e.Repository]...)
		case *event.ScipDeleted:
			w.rows[e.Repository] = slices.DeleteFunc(slices.Clone(w.rows[e.Repository]), func(u event.ScipUploaded) bool { return u.Object == e.Object })
		}
	}
	w.waiting = nil
	return nil
}

func (w *world) Resolve(_ context.Context, _ *code.Repository, name string) (source.Revision, error) {
	if name != string(commit) {
		return source.Revision{}, source.ErrNoRevision
	}
	return source.Revision{Commit: commit}, nil
}

func (w *world) File(_ context.Context, _ *code.Repository, _, path string) (source.File, error) {
	text, ok := w.files[path]
	switch {
	case path == "broken.go":
		return source.File{}, source.ErrUnavailable
	case path == "logo.png":
		return source.File{}, source.ErrBinary
	case !ok:
		return source.File{}, source.ErrNoPath
	}
	return source.File{Text: []byte(text), Blob: strings.Repeat("ab", 20)}, nil
}

func (w *world) upload(id code.RepositoryID, path string, body io.Reader) error {
	_, _, err := w.store.Upload(w.t.Context(), precise.Origin{Repository: &code.Repository{ID: id, Name: fmt.Sprint("r", id)}, Commit: commit, Path: path}, body)
	return err
}

func (w *world) mustUpload(id code.RepositoryID, path string, index sciptest.Message) {
	w.t.Helper()
	if err := w.upload(id, path, bytes.NewReader(index)); err != nil {
		w.t.Fatal(err)
	}
}

// objectNames lists the objects of the segment store.
func (w *world) objectNames() (names []string) {
	for o, err := range w.objects.List(w.t.Context()) {
		if err != nil {
			w.t.Fatal(err)
		}
		names = append(names, o.Name)
	}
	return names
}

func part(symbol string, roles uint64, place ...uint64) sciptest.Message {
	return sciptest.Message{}.Part(2, sciptest.NewOccurrence(symbol, roles, place...))
}

func potIndex(path string) sciptest.Message {
	return sciptest.NewIndex("scip-go").Part(2, sciptest.NewDocument(path,
		part(boil, 1, 2, 5, 9), part(kettle, 1, 4, 5, 11), part("local 0", 1, 6, 13, 14), part(boil, 0, 6, 21, 25), part("local 0", 0, 6, 33, 34),
		sciptest.Message{}.Part(3, sciptest.Message{}.Text(1, boil).Text(3, "Boil boils.")),
		sciptest.Message{}.Part(3, sciptest.Message{}.Text(1, kettle).Part(4, sciptest.Message{}.Text(1, ware).Number(3, 1))),
		sciptest.Message{}.Part(3, sciptest.Message{}.Text(1, "local 0").Text(6, "x"))))
}

// show prints occurrences as the text at their places.
func show(text string, all []scip.Occurrence) string {
	var out []string
	for _, o := range all {
		start, end := precise.Offset([]byte(text), o.Start), precise.Offset([]byte(text), o.End)
		out = append(out, fmt.Sprintf("%d:%s", o.Start.Line+1, text[start:end]))
	}
	return strings.Join(out, " ")
}

// TestLaterText checks that occurrences carry over to texts with different lines.
func TestLaterText(t *testing.T) {
	w := newWorld(t, nil)
	w.mustUpload(7, "", potIndex("pot.go"))
	for name, c := range map[string]struct{ text, want string }{
		"the same":          {potText, "3:Boil 5:Kettle 7:x 7:Boil 7:x"},
		"lines before":      {"// Copyright\n\n" + potText, "5:Boil 7:Kettle 9:x 9:Boil 9:x"},
		"a changed line":    {strings.Replace(potText, "func run() { x", "func run() {  x", 1), "3:Boil 5:Kettle"},
		"a line removed":    {strings.Replace(potText, "func Boil() {}\n", "", 1), "4:Kettle 6:x 6:Boil 6:x"},
		"other line ends":   {strings.ReplaceAll(potText, "\n", "\r\n"), "3:Boil 5:Kettle 7:x 7:Boil 7:x"},
		"another file":      {"nothing of it\n", ""},
		"an empty file":     {"", ""},
		"cut in the middle": {potText[:len(potText)/2], "3:Boil"},
	} {
		if got := show(c.text, w.store.Occurrences(t.Context(), precise.Text{Repository: 7, Path: "pot.go", Text: []byte(c.text)})); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if got := w.store.Occurrences(t.Context(), precise.Text{Repository: 8, Path: "pot.go", Text: []byte(potText)}); got != nil {
		t.Errorf("another repository has %v", got)
	}
}

// TestRefusedUploads checks that a refused upload leaves nothing that a reader or the
// next start would see.
func TestRefusedUploads(t *testing.T) {
	w := newWorld(t, nil)
	broken := errors.New("the connection broke")
	index := potIndex("pot.go")
	for name, c := range map[string]struct {
		path string
		body io.Reader
		want error
	}{
		"truncated":                 {"", bytes.NewReader(index[:len(index)-3]), scip.ErrInvalid},
		"no index":                  {"", strings.NewReader("<html>"), scip.ErrInvalid},
		"no document":               {"", bytes.NewReader(sciptest.NewIndex("x")), scip.ErrInvalid},
		"a file that is not there":  {"", bytes.NewReader(potIndex("kettle.go")), scip.ErrInvalid},
		"another directory":         {"cmd", bytes.NewReader(index), scip.ErrInvalid},
		"a directory outside":       {"../cmd", bytes.NewReader(index), scip.ErrInvalid},
		"a path that climbs":        {"", bytes.NewReader(potIndex("a/../../pot.go")), scip.ErrInvalid},
		"an absolute path":          {"", bytes.NewReader(potIndex("/etc/passwd")), scip.ErrInvalid},
		"a path of NUL":             {"", bytes.NewReader(potIndex("a\x00")), scip.ErrInvalid},
		"another text":              {"", bytes.NewReader(sciptest.NewIndex("x").Part(2, sciptest.NewDocument("pot.go", part("s", 0, 99, 0, 1)))), scip.ErrInvalid},
		"files that cannot be read": {"", bytes.NewReader(potIndex("broken.go")), source.ErrUnavailable},
		"a broken connection":       {"", io.MultiReader(bytes.NewReader(index[:50]), iotest.ErrReader(broken)), broken},
	} {
		if err := w.upload(7, c.path, c.body); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	other := precise.Origin{Repository: &code.Repository{ID: 7}, Commit: "2222222222222222222222222222222222222222"}
	if _, _, err := w.store.Upload(t.Context(), other, bytes.NewReader(index)); !errors.Is(err, source.ErrNoRevision) {
		t.Errorf("another commit: %v", err)
	}
	if names := w.objectNames(); len(w.rows) > 0 || len(names) > 0 {
		t.Errorf("rows %v and objects %v are left", w.rows, names)
	}
	if left, err := os.ReadDir(w.dir); err != nil || len(left) > 0 {
		t.Errorf("files %v are left, %v", left, err)
	}
	// Files that are not text, or outside the directory of the index, are skipped.
	w.mustUpload(7, "", append(potIndex("pot.go"), sciptest.Message{}.Part(2, sciptest.NewDocument("../cache/main.go")).Part(2, sciptest.NewDocument("logo.png"))...))
	if got := w.rows[7][0]; got.Documents != 1 || got.Occurrences != 5 || got.Symbols != 3 || got.Tool != "scip-go" || got.Keep != precise.DefaultKeep {
		t.Errorf("announced %+v", got)
	}
}

// TestDeathBeforeTheEvent stops an upload between its object and its event, as a kill
// would: nothing shows the upload, and a later sweep deletes its object.
func TestDeathBeforeTheEvent(t *testing.T) {
	w := newWorld(t, nil)
	w.failing = errors.New("killed")
	if err := w.upload(7, "", bytes.NewReader(potIndex("pot.go"))); !errors.Is(err, w.failing) {
		t.Fatal(err)
	}
	if got := w.store.Occurrences(t.Context(), precise.Text{Repository: 7, Path: "pot.go", Text: []byte(potText)}); len(w.objectNames()) != 1 || got != nil {
		t.Fatalf("objects %v, occurrences %v", w.objectNames(), got)
	}
	if err := w.store.Sweep(t.Context(), time.Now().Add(-time.Hour)); err != nil || len(w.objectNames()) != 1 {
		t.Errorf("an object that may still be announced is gone: %v, %v", w.objectNames(), err)
	}
	if err := w.store.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil || len(w.objectNames()) != 0 {
		t.Errorf("objects %v are left, %v", w.objectNames(), err)
	}
}

// TestSweepWaitsForTheCatalog checks that Sweep keeps an object whose event is in the log
// but not yet in the catalog, and deletes replaced objects.
func TestSweepWaitsForTheCatalog(t *testing.T) {
	w := newWorld(t, nil)
	w.mustUpload(7, "", potIndex("pot.go"))
	replaced := w.rows[7][0].Object
	delete(w.rows, 7)
	if got := w.store.Occurrences(t.Context(), precise.Text{Repository: 7, Path: "pot.go", Text: []byte(potText)}); got != nil {
		t.Errorf("a replaced index says %v", got)
	}
	w.lagging = true
	w.mustUpload(7, "", potIndex("pot.go"))
	if err := w.store.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if names := w.objectNames(); len(names) != 1 || names[0] == replaced || names[0] != w.rows[7][0].Object {
		t.Errorf("objects %v, rows %v", names, w.rows)
	}
}

// TestDelete checks that answers do not use a deleted upload, that a later upload of the
// same commit remains, and that a sweep deletes the object.
func TestDelete(t *testing.T) {
	w := newWorld(t, nil)
	r := &code.Repository{ID: 7, Name: "r7"}
	w.mustUpload(7, "", potIndex("pot.go"))
	w.mustUpload(7, "", potIndex("pot.go"))
	w.mustUpload(8, "", potIndex("pot.go"))
	first, second := w.rows[7][1], w.rows[7][0]
	found := func() bool {
		return w.store.Occurrences(t.Context(), precise.Text{Repository: 7, Path: "pot.go", Text: []byte(potText)}) != nil
	}
	if got, err := w.store.Delete(t.Context(), r, precise.UploadID(&first)); err != nil || got.Object != first.Object || !found() {
		t.Fatalf("delete the first upload: %+v, %v; the second answers: %t", got, err, found())
	}
	w.failing = errors.New("the log is full")
	if _, err := w.store.Delete(t.Context(), r, precise.UploadID(&second)); !errors.Is(err, w.failing) || !found() {
		t.Errorf("delete while the log fails: %v, it answers: %t", err, found())
	}
	w.failing = nil
	for _, id := range []string{precise.UploadID(&first), precise.UploadID(&w.rows[8][0]), "", "../x", first.Object} {
		if _, err := w.store.Delete(t.Context(), r, id); !errors.Is(err, code.ErrNotFound) {
			t.Errorf("delete %q: %v, want %v", id, err, code.ErrNotFound)
		}
	}
	if _, err := w.store.Delete(t.Context(), r, precise.UploadID(&second)); err != nil || found() {
		t.Errorf("delete the second upload: %v, it answers: %t", err, found())
	}
	if err := w.store.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if names := w.objectNames(); len(names) != 1 || names[0] != w.rows[8][0].Object {
		t.Errorf("objects %v are left, want that of repository 8", names)
	}
}

// TestBounds checks that uploads beyond the space or the number of concurrent uploads
// fail.
func TestBounds(t *testing.T) {
	w := newWorld(t, func(o *precise.Options) { o.MaxTotalBytes, o.MaxUploadBytes = 1, 2000 })
	if err := w.upload(7, "", bytes.NewReader(append(potIndex("pot.go"), bytes.Repeat(sciptest.Message{}.Number(15, 1), 1000)...))); !errors.Is(err, scip.ErrTooLarge) {
		t.Errorf("too large an upload: %v", err)
	}
	started, release := make(chan bool), make(chan bool)
	done := make(chan error)
	for range 2 {
		go func() { done <- w.upload(7, "", &slowReader{started: started, release: release}) }()
		<-started
	}
	if err := w.upload(7, "", bytes.NewReader(potIndex("pot.go"))); !errors.Is(err, precise.ErrBusy) {
		t.Errorf("a third upload: %v", err)
	}
	close(release)
	for range 2 {
		if err := <-done; !errors.Is(err, scip.ErrInvalid) {
			t.Error(err)
		}
	}
	w.mustUpload(7, "", potIndex("pot.go"))
	if err := w.upload(7, "", bytes.NewReader(potIndex("pot.go"))); !errors.Is(err, precise.ErrFull) {
		t.Errorf("without space: %v", err)
	}
}

// slowReader signals each read, and returns EOF once it is released.
type slowReader struct{ started, release chan bool }

func (r *slowReader) Read([]byte) (int, error) {
	r.started <- true
	<-r.release
	return 0, io.EOF
}

// owners owns packages by the names of manifests among the repositories of a test.
type owners map[string]code.RepositoryID

func (o owners) Known(scip.Package) (code.RepositoryID, bool) { return 0, false }
func (o owners) Claimant(_ context.Context, p scip.Package) code.RepositoryID {
	return o[p.Name]
}

// TestRepositories finds uses in other repositories and versions, limited to the
// repositories that the caller names.
func TestRepositories(t *testing.T) {
	w := newWorld(t, nil)
	w.files["cmd/use.go"] = "package use\n\nvar _ = Boil\n"
	w.mustUpload(7, "", potIndex("pot.go"))
	w.mustUpload(8, "cmd", sciptest.NewIndex("scip-go").Part(2, sciptest.NewDocument("use.go", part(boilV2, 0, 2, 8, 12))))
	near := precise.Symbol{Repository: 7, Path: "pot.go", Name: boil}
	scope := func(near precise.Symbol, among ...code.RepositoryID) *precise.Scope {
		return &precise.Scope{Near: near, Among: among, Owners: owners{"example.com/pot": 7}}
	}
	files := func(use precise.Use, name string, among ...code.RepositoryID) (out []string) {
		found, _ := w.store.Files(t.Context(), scope(near, among...), []string{name}, use)
		for _, f := range found {
			out = append(out, fmt.Sprint(f.Repository, " ", f.Path))
		}
		return out
	}
	for _, c := range []struct {
		got  []string
		want string
	}{
		{files(precise.AnyUse, boil, 7, 8), "7 pot.go, 8 cmd/use.go"},
		{files(precise.Definition, boilV2, 7, 8), "7 pot.go"},
		{files(precise.AnyUse, boil, 7), "7 pot.go"},
		{files(precise.AnyUse, "local 0", 7, 8), "7 pot.go"},
		{files(precise.AnyUse, "scip-go gomod x y z", 7, 8), ""},
		{w.store.Implementers(t.Context(), scope(precise.Symbol{Repository: 8, Name: ware}, 7, 8)), kettle},
		{w.store.Implementers(t.Context(), scope(precise.Symbol{Repository: 8, Name: ware}, 8)), ""},
	} {
		if got := strings.Join(c.got, ", "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	i := w.store.Describe(t.Context(), scope(precise.Symbol{Repository: 8, Path: "cmd/use.go", Name: boilV2}, 7, 8))
	if i == nil || i.Documentation != "Boil boils." {
		t.Errorf("description %+v", i)
	}
	if i := w.store.Describe(t.Context(), scope(precise.Symbol{Repository: 8, Path: "cmd/use.go", Name: boilV2}, 8)); i != nil {
		t.Errorf("a repository that does not count says %+v", i)
	}
	if i := w.store.Describe(t.Context(), scope(precise.Symbol{Repository: 7, Path: "pot.go", Name: "local 0"})); i == nil || i.DisplayName != "x" {
		t.Errorf("description of a local name %+v", i)
	}
}

// TestDamagedObject checks that a damaged object counts as a missing index.
func TestDamagedObject(t *testing.T) {
	w := newWorld(t, nil)
	w.mustUpload(7, "", potIndex("pot.go"))
	name := w.rows[7][0].Object
	b, err := w.objects.GetBytes(t.Context(), name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(b)
	damaged[len(damaged)-1] ^= 1
	if err := errors.Join(w.objects.Delete(t.Context(), name), w.objects.PutBytes(t.Context(), name, damaged)); err != nil {
		t.Fatal(err)
	}
	if got := w.store.Occurrences(t.Context(), precise.Text{Repository: 7, Path: "pot.go", Text: []byte(potText)}); got != nil {
		t.Errorf("a damaged index says %v", got)
	}
	if _, err := scip.Open(bytes.NewReader(b), int64(len(b))); err != nil {
		t.Errorf("the test damaged nothing: %v", err)
	}
}
