package e2e

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/loopback"
)

// damagePlaces is the number of places that are damaged in each kind of file.
var damagePlaces = flag.Int("damage.places", 1, "places at which a bit of each kind of file is turned")

// damagedKind is a kind of file of the data directory.
type damagedKind struct {
	name string
	// pattern selects the files, below the data directory.
	pattern string
	// links selects files by their number of names: a segment is one file with names in
	// segments/ and projections/.
	links int
	// apart damages only one of the two names, as in two file systems.
	apart bool
}

const (
	anyLinks = iota
	oneName
	twoNames
)

var damagedKinds = []damagedKind{
	{name: "rows of the projections", pattern: "projections/*/*.sst", links: oneName},
	{name: "segment in both stores", pattern: "segments/segment-*", links: twoNames},
	{name: "segment in the segment store", pattern: "segments/segment-*", links: twoNames, apart: true},
	{name: "segment in the projections", pattern: "projections/*/*.sst", links: twoNames, apart: true},
	{name: "manifest in the segment store", pattern: "segments/manifest-*"},
	{name: "manifest of the projections", pattern: "projections/*/MANIFEST-*"},
	{name: "write-ahead log of the projections", pattern: "projections/*/*.log"},
	{name: "options of the projections", pattern: "projections/*/OPTIONS-*"},
	{name: "pointer to the projections", pattern: "projections/CURRENT"},
	{name: "rows of the accounts", pattern: "accounts/*.sst"},
	{name: "manifest of the accounts", pattern: "accounts/MANIFEST-*"},
	{name: "write-ahead log of the accounts", pattern: "accounts/*.log"},
	{name: "options of the accounts", pattern: "accounts/OPTIONS-*"},
	{name: "rows of the log", pattern: "log/*.sst"},
	{name: "manifest of the log", pattern: "log/MANIFEST-*"},
	{name: "write-ahead log of the log", pattern: "log/*.log"},
	{name: "options of the log", pattern: "log/OPTIONS-*"},
	{name: "pack of a mirror", pattern: "mirrors/*/*/git/objects/pack/*.pack"},
	{name: "index of a pack of a mirror", pattern: "mirrors/*/*/git/objects/pack/*.idx"},
	{name: "loose object of a mirror", pattern: "mirrors/*/*/git/objects/[0-9a-f][0-9a-f]/*"},
	{name: "HEAD of a mirror", pattern: "mirrors/*/*/git/HEAD"},
	{name: "configuration of a mirror", pattern: "mirrors/*/*/git/config"},
	{name: "registration in a mirror", pattern: "mirrors/*/*/quarry.json"},
	{name: "ref of a mirror", pattern: "mirrors/*/*/git/refs/heads/main"},
	{name: "settings of git", pattern: "mirrors/git.config"},
	{name: "notes of the mirrors", pattern: "mirrors/notes/*.json"},
	{name: "indexed state of a mirror", pattern: "mirrors/*/*/git/refs/quarry/indexed/refs/heads/main/*"},
	{name: "state of the compactor", pattern: "merges/*.json"},
	{name: "secret", pattern: "secret.key"},
	{name: "checksum of the secret", pattern: "secret.key.sum"},
	{name: "operator's token", pattern: "operator.token"},
}

// TestTurnedBits flips one bit in one file of a data directory and starts the server on
// it. In the end the server answers as if nothing had happened, either on its own or
// after it has exited with status 1 and a message that names the file or its directory,
// and a remedy, which the test applies.
func TestTurnedBits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the server for each kind of file")
	}
	w := newDamageWorld(t)
	for _, kind := range damagedKinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			for place := range *damagePlaces {
				w.tryDamage(t, kind, place)
			}
		})
	}
}

// damageWorld is a repository, and a data directory in which all of its commits but the
// last are indexed.
type damageWorld struct {
	root, tree, config, data string
	key                      string
}

// largeImport is above event.MaxInlineChanges, so that the segment store contains a
// manifest.
const largeImport = 1100

func newDamageWorld(t *testing.T) *damageWorld {
	t.Helper()
	root := t.TempDir()
	w := &damageWorld{root: root, tree: filepath.Join(root, "demo"), config: filepath.Join(root, "quarry.yaml"), data: filepath.Join(root, "data")}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(w.config, []byte(configText(root)), 0o600))
	must(runGit("", "init", "-q", "-b", "main", w.tree))
	for i := range largeImport {
		must(os.WriteFile(filepath.Join(w.tree, fmt.Sprintf("file%04d.txt", i)), fmt.Appendf(nil, "kettle %d stands on shelf %d\n", i, i*i), 0o600))
	}
	commit := func(word string) {
		t.Helper()
		must(os.WriteFile(filepath.Join(w.tree, word+".txt"), []byte("here is "+word+"\n"), 0o600))
		must(errors.Join(runGit(w.tree, "add", "-A"), runGit(w.tree, "commit", "-q", "-m", word)))
	}
	commit("vuvuzela")
	must(runGit(w.tree, "repack", "-adq"))
	s := w.startServer(t, w.data)
	user := s.createOwner(t)
	_, w.key = s.createKey(t, user, "tests")
	index, said := s.newCommand("index", "--name", "demo", w.tree)
	if err := index.Run(); err != nil {
		t.Fatalf("quarry index: %v: %s\n%s", err, said, s.output)
	}
	must(s.stop())
	// The second start converts the write-ahead logs to tables, and fills others.
	s = w.startServer(t, w.data)
	commit("ocarina")
	w.deliverPush(t, s)
	w.awaitWord(t, s, "ocarina")
	s.createKey(t, user, "more tests")
	must(s.stop())
	commit("bassoon")
	return w
}

func (w *damageWorld) serverArgs(data string) []string {
	return []string{"--config", w.config, "--data", data}
}

func (w *damageWorld) startServer(t *testing.T, data string) *server {
	t.Helper()
	s, err := startServer(w.root, os.Environ(), w.serverArgs(data)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.killProcess)
	return s
}

// deliverPush delivers the newest commit, unless the server ends. Like a host, it
// redelivers until it gets 202: a server that finds damage closes its listener and
// restarts.
func (w *damageWorld) deliverPush(t *testing.T, s *server) {
	t.Helper()
	id := "msg_" + commitOf(w.tree, "HEAD")
	var status int
	var answer string
	var err error
	if !pollUntil(func() bool {
		status, answer, err = deliverPush(s.url, id, push{Repository: w.tree, Ref: "refs/heads/main", After: commitOf(w.tree, "HEAD")})
		return err == nil && status == http.StatusAccepted || s.hasExited()
	}) {
		t.Errorf("push: %d %s, %v", status, answer, err)
	}
}

func (w *damageWorld) awaitWord(t *testing.T, s *server, word string) {
	t.Helper()
	if !pollUntil(func() bool { n, err := countMatches(s.url, word); return err == nil && n == 1 }) {
		t.Fatalf("%s is not searchable: %s", word, s.output)
	}
}

// tryDamage damages one file of a copy of the data directory, and searches it with a
// server.
func (w *damageWorld) tryDamage(t *testing.T, kind damagedKind, place int) {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := copyTree(w.data, data); err != nil {
		t.Fatal(err)
	}
	file, what := damageFile(t, data, kind, place)
	for attempt := 0; ; attempt++ {
		s := w.launchServer(t, data)
		wrong := w.checkAnswers(t, s)
		if wrong == "" {
			t.Logf("%s: right answers after %d remedies", what, attempt)
			if err := s.stop(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			return
		}
		if !s.hasExited() {
			t.Fatalf("%s: %s\n%s", what, wrong, s.output)
		}
		said := s.output.String()
		if code := s.cmd.ProcessState.ExitCode(); code != 1 || strings.Contains(said, "goroutine ") {
			t.Fatalf("%s: exit status %d:\n%s", what, code, said)
		}
		if !strings.Contains(said, filepath.Dir(file)) {
			t.Fatalf("%s: no message names the file or its directory:\n%s", what, said)
		}
		if attempt == maxRemedies {
			t.Fatalf("%s: the remedy has not helped:\n%s", what, said)
		}
		w.applyRemedy(t, data, what, said, attempt)
	}
}

func (w *damageWorld) launchServer(t *testing.T, data string) *server {
	t.Helper()
	address, err := loopback.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	s, err := launchServer(address, w.root, os.Environ(), w.serverArgs(data)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.killProcess)
	return s
}

// checkAnswers returns what is wrong with the search results once the server has ended or
// the time is over.
func (w *damageWorld) checkAnswers(t *testing.T, s *server) string {
	t.Helper()
	if !pollUntil(func() bool { return s.hasExited() || s.getStatus("/readyz") == http.StatusOK }) || s.hasExited() {
		return "not ready"
	}
	w.deliverPush(t, s)
	wrong := ""
	pollUntil(func() bool {
		wrong = w.askOnce(t, s)
		return wrong == "" || s.hasExited()
	})
	if wrong != "" {
		return wrong
	}
	// Text that was lost from the segment store is re-indexed in the background.
	pollUntil(func() bool {
		wrong = ""
		verify, said := s.newCommand("verify", "--json")
		if out, err := verify.Output(); err != nil {
			wrong = fmt.Sprintf("verify: %v: %s%s", err, out, said)
		}
		return wrong == "" || s.hasExited()
	})
	return wrong
}

func (w *damageWorld) askOnce(t *testing.T, s *server) string {
	t.Helper()
	for word, want := range map[string]int{"vuvuzela": 1, "ocarina": 1, "bassoon": 1, "kettle": largeImport} {
		if n, err := countMatches(s.url, word); err != nil || n != want {
			return fmt.Sprintf("%s: %d matches, want %d, %v", word, n, want, err)
		}
	}
	if status := s.statusWithKey(t, w.key); status != http.StatusOK {
		return fmt.Sprintf("the API key: %d", status)
	}
	return ""
}

var (
	sayStart   = regexp.MustCompile(`start the server again`)
	sayRemove  = regexp.MustCompile(`remove ([^ ,:;"\\]+)`)
	sayRestore = regexp.MustCompile(`restore ([^ ,:;"\\]+) from a backup`)
)

// maxRemedies bounds the number of remedies that one message may name.
const maxRemedies = 2

// applyRemedy applies the remedy in the messages of the server, or the other remedy at
// the second attempt.
func (w *damageWorld) applyRemedy(t *testing.T, data, what, said string, attempt int) {
	t.Helper()
	switch restore, remove := sayRestore.FindStringSubmatch(said), sayRemove.FindStringSubmatch(said); {
	case restore != nil && (attempt == 0 || remove == nil):
		below, err := filepath.Rel(data, restore[1])
		if err == nil {
			err = errors.Join(os.RemoveAll(restore[1]), copyTree(filepath.Join(w.data, below), restore[1]))
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	case remove != nil:
		if below, err := filepath.Rel(data, remove[1]); err != nil || !filepath.IsLocal(below) {
			t.Fatalf("%s: the remedy removes %s:\n%s", what, remove[1], said)
		}
		if err := os.RemoveAll(remove[1]); err != nil {
			t.Fatal(err)
		}
	case sayStart.MatchString(said):
	default:
		t.Fatalf("%s: no message names a remedy:\n%s", what, said)
	}
}

// damageFile flips one bit of the largest file of a kind. It returns the file and a
// description of the damage.
func damageFile(t *testing.T, data string, kind damagedKind, place int) (file, what string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(data, kind.pattern))
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		links := info.Sys().(*syscall.Stat_t).Nlink
		if kind.links == anyLinks || (kind.links == twoNames) == (links > 1) {
			if info.Mode().IsRegular() && info.Size() > size {
				file, size = name, info.Size()
			}
		}
	}
	if file == "" {
		t.Fatalf("no file %s", kind.pattern)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := len(text) * (2*place + 1) / (2 * *damagePlaces)
	bit := byte(1) << (place % 8)
	text[at] ^= bit
	if kind.apart {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, fmt.Sprintf("%s, bit %#02x of byte %d of %d", file, bit, at, len(text))
}

// copyTree copies a directory. Files with several names in it have several names in the
// copy as well.
func copyTree(from, to string) error {
	type inode struct{ device, number uint64 }
	copied := map[inode]string{}
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, below)
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(target, info.Mode().Perm())
		}
		stat := info.Sys().(*syscall.Stat_t)
		key := inode{uint64(stat.Dev), stat.Ino} //nolint:unconvert // the type differs between systems
		if first, ok := copied[key]; ok && stat.Nlink > 1 {
			return os.Link(first, target)
		}
		copied[key] = target
		return copyFile(path, target, info.Mode().Perm())
	})
}

func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
