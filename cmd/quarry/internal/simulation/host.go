package simulation

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// A Host is a code host with its repositories. Trees and blobs have the names that git
// gives them. A Host never loses data.
type Host struct {
	mu struct {
		sync.Mutex
		byURL   map[string]*Repository
		commits map[code.CommitID]*commit
		blobs   map[string]string // content by name
		trees   map[string]string // content by name
		away    bool
		full    bool
	}
}

// A Repository is a repository of a Host. Push and Delete change its branches.
type Repository struct {
	URL      string
	Head     code.Ref
	branches map[code.Ref]code.CommitID
}

// commit is a commit and its content.
type commit struct {
	text   string
	parent code.CommitID // empty if there is none
	// files holds the names of blobs by path.
	files map[string]string
}

// NewHost returns a host without repositories.
func NewHost() *Host {
	h := &Host{}
	h.mu.byURL, h.mu.commits, h.mu.blobs = map[string]*Repository{}, map[code.CommitID]*commit{}, map[string]string{}
	h.mu.trees = map[string]string{}
	return h
}

// Add adds a repository without branches whose default branch is main.
func (h *Host) Add(url string) *Repository {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &Repository{URL: url, Head: "refs/heads/main", branches: map[code.Ref]code.CommitID{}}
	h.mu.byURL[url] = r
	return r
}

// Fork adds a repository that begins with the default branch of another.
func (h *Host) Fork(of *Repository, url string) *Repository {
	r := h.Add(url)
	h.mu.Lock()
	defer h.mu.Unlock()
	r.branches[r.Head] = of.branches[of.Head]
	return r
}

// Move makes a branch point to a commit that the host knows.
func (h *Host) Move(r *Repository, ref code.Ref, to code.CommitID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.branches[ref] = to
}

// SetAway makes every connection to the host fail, or work again.
func (h *Host) SetAway(away bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.away = away
}

// SetFull makes the disk of the mirrors full, or not full.
func (h *Host) SetFull(full bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.full = full
}

func objectName(kind, content string) string {
	sum := sha1.Sum(fmt.Appendf(nil, "%s %d\x00%s", kind, len(content), content))
	return hex.EncodeToString(sum[:])
}

// Push sets a branch to a new commit with the given files, whose contents are given by
// path.
func (h *Host) Push(r *Repository, ref code.Ref, files map[string]string, at time.Time) code.CommitID {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &commit{files: map[string]string{}, parent: r.branches[ref]}
	for path, content := range files {
		blob := objectName("blob", content)
		h.mu.blobs[blob], c.files[path] = content, blob
	}
	parent := ""
	if c.parent != "" {
		parent = fmt.Sprintf("parent %s\n", c.parent)
	}
	c.text = fmt.Sprintf("tree %s\n%scommitter Ada <ada@example.org> %d +0000\n\npush\n", h.addTreeLocked(c.files), parent, at.Unix())
	id := code.CommitID(objectName("commit", c.text))
	h.mu.commits[id] = c
	r.branches[ref] = id
	return id
}

// addTreeLocked stores the trees of files, which maps paths to blobs, and returns the
// name of the root tree. It must be called with mu held.
func (h *Host) addTreeLocked(files map[string]string) string {
	below := map[string]map[string]string{} // by directory name with a trailing slash
	entries := map[string]string{}          // git's entry for each name; the name of a directory ends in a slash
	for path, blob := range files {
		name, rest, isBelow := strings.Cut(path, "/")
		if !isBelow {
			entries[name] = entryOfTree("100644", name, blob)
			continue
		}
		if below[name+"/"] == nil {
			below[name+"/"] = map[string]string{}
		}
		below[name+"/"][rest] = blob
	}
	for name, inside := range below {
		entries[name] = entryOfTree("40000", strings.TrimSuffix(name, "/"), h.addTreeLocked(inside))
	}
	var tree strings.Builder
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		tree.WriteString(entries[name])
	}
	id := objectName("tree", tree.String())
	h.mu.trees[id] = tree.String()
	return id
}

func entryOfTree(mode, name, id string) string {
	raw, err := hex.DecodeString(id)
	if err != nil {
		panic(err) // the input was created above
	}
	return fmt.Sprintf("%s %s\x00%s", mode, name, raw)
}

// Delete deletes a branch.
func (h *Host) Delete(r *Repository, ref code.Ref) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(r.branches, ref)
}

// Branches returns the branches of a repository.
func (h *Host) Branches(r *Repository) map[code.Ref]code.CommitID {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(r.branches)
}

// Files returns the content of the files of a commit by path.
func (h *Host) Files(id code.CommitID) map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	files := map[string]string{}
	if c := h.mu.commits[id]; c != nil {
		for path, blob := range c.files {
			files[path] = h.mu.blobs[blob]
		}
	}
	return files
}

// findCommit returns a commit, or nil if there is none.
func (h *Host) findCommit(id code.CommitID) *commit {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.commits[id]
}

// findBlob returns the content of a blob.
func (h *Host) findBlob(name string) (content string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	content, ok = h.mu.blobs[name]
	return content, ok
}

// tree returns the content of a tree.
func (h *Host) tree(name string) (content string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	content, ok = h.mu.trees[name]
	return content, ok
}

// listRefs returns the HEAD and the branches that a client sees at a URL, or git's error
// message.
func (h *Host) listRefs(url string) (head code.Ref, branches map[code.Ref]code.CommitID, failure string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.mu.byURL[url]
	switch {
	case h.mu.away:
		return "", nil, "fatal: unable to access '" + url + "': Failed to connect to host port 443: Connection refused"
	case r == nil:
		return "", nil, "fatal: repository '" + url + "' not found"
	}
	return r.Head, maps.Clone(r.branches), ""
}

// DiskIsFull reports whether SetFull made the disk full.
func (h *Host) DiskIsFull() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.full
}

// BlobName returns the name that git gives to a file with this content.
func BlobName(content string) string { return objectName("blob", content) }
