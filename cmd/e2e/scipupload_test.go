package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/quarrysearch/quarry/projections/scip/sciptest"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/seedtest"
)

// bigUpload is a repository with an index of several megabytes.
type bigUpload struct {
	*crashing
	commit string
	index  []byte
}

const (
	bigFiles = 30
	// bigTexts is the number of symbols that a file describes, each with an
	// incompressible text.
	bigTexts = 50
)

func newBigUpload(t *testing.T) *bigUpload {
	c := newCrashing(t)
	c.variables = append(c.variables, "GOGC=100") // what servers run with
	for i := range bigFiles {
		if err := os.WriteFile(filepath.Join(c.tree, fmt.Sprintf("pot%d.go", i)), []byte("package pot\n\nfunc Boil() {}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c.commitFile("others", "files")
	b := &bigUpload{crashing: c, commit: string(commitOf(c.tree, "HEAD"))}
	random := rand.New(rand.NewPCG(1, 1))
	index := sciptest.NewIndex("scip-go")
	for i := range bigFiles {
		symbol := fmt.Sprintf("scip-go gomod example.com/pot v1 `pot%d`/Boil().", i)
		parts := []sciptest.Message{sciptest.Message{}.Part(2, sciptest.NewOccurrence(symbol, 1, 2, 5, 9))}
		for k := range bigTexts {
			text := make([]byte, 4<<10)
			for n := range text {
				text[n] = byte('!' + random.IntN(90))
			}
			parts = append(parts, sciptest.Message{}.Part(3, sciptest.Message{}.Text(1, fmt.Sprintf("%sx%d.", symbol, k)).Text(3, string(text))))
		}
		index = index.Part(2, sciptest.NewDocument(fmt.Sprintf("pot%d.go", i), parts...))
	}
	b.index = index
	b.startServer()
	b.indexTree()
	return b
}

// address returns the URL for uploads of the commit.
func (b *bigUpload) address() string {
	response, err := clientOf(strings.TrimPrefix(b.server.url, "http://")).Get(b.server.url + "/api/repos")
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	var repos []struct {
		RepoID int `json:"repoId"`
	}
	if err := json.NewDecoder(response.Body).Decode(&repos); err != nil || len(repos) != 1 {
		b.t.Fatalf("repositories %v, %v", repos, err)
	}
	return fmt.Sprintf("%s/api/repos/%d/scip?commit=%s", b.server.url, repos[0].RepoID, b.commit)
}

// send uploads a body of the given length, or of unknown length (-1).
func (b *bigUpload) send(address string, body io.Reader, size int64) (int, string, error) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, address, body)
	if err != nil {
		return 0, "", err
	}
	request.ContentLength = size
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := clientOf(strings.TrimPrefix(b.server.url, "http://")).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, string(answer), err
}

// checkUploads checks that results are precise exactly if the upload is listed, and that
// no file of an unfinished upload is left.
func (b *bigUpload) checkUploads(when string, listed bool) {
	b.t.Helper()
	var found wire.FindSymbolsResponse
	b.post(b.t, "/api/find_definitions", wire.FindSymbolsRequest{
		SymbolName: "Boil", Position: wire.FindPosition{RepoName: "demo", Path: "pot7.go", LineNumber: 3},
	}, &found)
	exact := len(found.Files) > 0 && found.Files[0].Matches[0].Precise
	if exact != listed {
		b.t.Errorf("%s: listed %t, and an answer is precise: %t", when, listed, exact)
	}
	if unfinished := b.unfinishedBytes(); unfinished > 0 {
		b.t.Errorf("%s: %d bytes of an unfinished upload are left", when, unfinished)
	}
}

func (b *bigUpload) hasUpload() bool {
	return strings.Contains(b.runQuarry(b.t, "scip", "list", "demo"), b.commit[:12])
}

// unfinishedBytes returns the size of the files of uploads that were not announced.
func (b *bigUpload) unfinishedBytes() (total int64) {
	names, err := filepath.Glob(filepath.Join(b.data, "scip", "upload-*"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			total += info.Size()
		}
	}
	return total
}

// TestKillDuringUpload kills the server in the middle of the upload of a precise index,
// and at moments around its end. Afterwards the upload counts completely or not at all,
// and the next upload succeeds.
func TestKillDuringUpload(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(seedtest.ChooseSeed(t), 0))
	b := newBigUpload(t)
	half := len(b.index) / 2

	r, w := io.Pipe()
	ended := make(chan error, 1)
	address := b.address()
	go func() {
		status, answer, err := b.send(address, r, -1)
		if err == nil {
			err = fmt.Errorf("%d: %s", status, answer)
			ended <- err
			return
		}
		ended <- nil
	}()
	if _, err := w.Write(b.index[:half]); err != nil {
		t.Fatal(err)
	}
	if !pollUntil(func() bool { return b.unfinishedBytes() > 0 }) {
		t.Fatal("nothing of half an upload was written: the test would show nothing")
	}
	b.server.killProcess()
	_ = w.CloseWithError(io.ErrClosedPipe)
	if err := <-ended; err != nil {
		t.Errorf("half an upload has the answer %v", err)
	}
	b.startServer()
	b.checkUploads("killed in the middle", false)
	if b.hasUpload() {
		t.Error("killed in the middle: the upload is listed")
	}

	for range 2 {
		address := b.address()
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			_, _, _ = b.send(address, bytes.NewReader(b.index), int64(len(b.index))) // may be killed during the upload
		}()
		<-time.After(time.Duration(random.Int64N(int64(200 * time.Millisecond))))
		b.server.killProcess()
		<-stopped
		b.startServer()
		b.checkUploads("killed at random", b.hasUpload())
	}

	path := filepath.Join(b.dir, "index.scip")
	if err := os.WriteFile(path, b.index, 0o600); err != nil {
		t.Fatal(err)
	}
	out := b.runQuarry(t, "scip", "upload", path, "--repo", "demo", "--commit", b.commit)
	if want := fmt.Sprintf("%d files, %d occurrences", bigFiles, bigFiles); !strings.Contains(out, want) {
		t.Errorf("upload: %s, want %s", out, want)
	}
	b.checkUploads("uploaded again", true)
}

// TestHugeUpload checks that an upload of two generated gigabytes is rejected in bounded
// memory.
func TestHugeUpload(t *testing.T) {
	t.Parallel()
	b := newBigUpload(t)
	address := b.address()
	before := b.server.peakBytes(t)
	outside := sciptest.Message{}.Part(2, sciptest.NewDocument("../built.go", sciptest.Message{}.Part(3, sciptest.Message{}.Text(1, "s").Text(3, strings.Repeat("x", 1<<20)))))
	head := sciptest.NewIndex("scip-go")
	for name, c := range map[string]struct {
		body io.Reader
		size int64
	}{
		"a length of two gigabytes":       {io.LimitReader(repeated(outside), hugeBytes), hugeBytes},
		"parts without end":               {io.MultiReader(bytes.NewReader(head), io.LimitReader(repeated(outside), hugeBytes)), -1},
		"a part that announces all of it": {io.MultiReader(bytes.NewReader(protowire.AppendVarint(protowire.AppendTag(head, 15, protowire.BytesType), hugeBytes)), io.LimitReader(repeated(outside), hugeBytes)), -1},
	} {
		status, answer, err := b.send(address, c.body, c.size)
		if err != nil || status != http.StatusRequestEntityTooLarge || !strings.Contains(answer, "scip.maxUploadBytes") {
			t.Errorf("%s: %d %s, %v", name, status, answer, err)
		}
	}
	if grown := b.server.peakBytes(t) - before; grown > maxGrowth {
		t.Errorf("the server took %d MiB more, want at most %d MiB", grown>>20, maxGrowth>>20)
	}
	b.checkUploads("refused", false)
}

const (
	hugeBytes = 2 << 30
	// maxGrowth bounds the memory for reading an upload: buffers, a document of one
	// megabyte several times over, and garbage that is not collected yet.
	maxGrowth = 100 << 20
)

// repeatedReader reads a text repeatedly.
type repeatedReader struct {
	text []byte
	at   int
}

func repeated(text []byte) io.Reader { return &repeatedReader{text: text} }

// Read implements io.Reader.
func (r *repeatedReader) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// peakBytes returns the peak memory of the server, or 0 if the system does not report it.
func (s *server) peakBytes(t *testing.T) (n int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscanf(rest, "%d kB", &n); err != nil {
		t.Fatal(err)
	}
	return n << 10
}
