package corpus

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// MaxSteps bounds Repository.Steps.
const MaxSteps = 1000

// buildHistory creates a repository whose commits lead from each of the listed versions
// of a package to the next, in Repository.Steps commits of several files each. It has no
// checked-out tree; its text is that of the last version.
func (b *builder) buildHistory(ctx context.Context, r Repository, scratch string) (Built, error) {
	built := Built{Name: r.Name, Set: r.Set}
	bare, trees := filepath.Join(scratch, "git"), filepath.Join(scratch, "versions")
	versions := make([]string, len(r.Packages))
	for i, p := range r.Packages {
		name, version := splitPackage(p)
		versions[i] = filepath.Join(trees, fmt.Sprintf("%04d", i))
		cache := filepath.Join(b.Out, "cache", r.Name+"-"+version)
		if err := os.MkdirAll(cache, 0o755); err != nil {
			return built, err
		}
		if err := os.MkdirAll(trees, 0o755); err != nil {
			return built, err
		}
		got, err := fetchers[r.From](ctx, name, version, cache, versions[i])
		if err != nil {
			return built, fmt.Errorf("fetch %s: %w", p, err)
		}
		built.Served = append(built.Served, name+"@"+got)
	}
	if err := initBare(ctx, bare); err != nil {
		return built, err
	}
	err := fastImport(ctx, bare, func(w *bufio.Writer) error {
		h := &history{w: w, now: map[string]version{}}
		for i, tree := range versions {
			if err := h.commitVersion(tree, built.Served[i], r.Steps); err != nil {
				return err
			}
		}
		built.Files, built.Bytes, built.TextFiles, built.TextBytes = h.count()
		return nil
	})
	if err != nil {
		return built, err
	}
	// fast-import stores versions of a file without deltas; a repository that receives
	// pushes has deltas.
	err = command{dir: bare, env: gitEnv, timeout: importTimeout, args: []string{"git", "repack", "-a", "-d", "-f", "--quiet"}}.run(ctx)
	if err != nil {
		return built, err
	}
	if built.Commit, err = resolveCommit(ctx, bare, "refs/heads/"+Branch); err != nil {
		return built, err
	}
	return built, replaceDirectory(bare, GitPath(b.Out, r.Name))
}

// version is a file in the last commit.
type version struct {
	mode string
	hash [sha256.Size]byte
	size int64
	text bool
}

type history struct {
	w        *bufio.Writer
	now      map[string]version
	sequence int
}

// change is the change of a commit to one path. An empty mode deletes the path.
type change struct {
	path, mode string
	content    []byte
}

// commitVersion adds the commits that lead from the previous version to the version in
// tree. The first version is one commit.
func (h *history) commitVersion(tree, name string, steps int) error {
	changes, err := h.changes(tree)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		return nil
	}
	if h.sequence == 0 {
		steps = 1
	}
	steps = min(steps, len(changes))
	for i := range steps {
		commitHeader(h.w, "refs/heads/"+Branch, fmt.Sprintf("%s, %d of %d", name, i+1, steps), h.sequence)
		h.sequence++
		for _, c := range changes[i*len(changes)/steps : (i+1)*len(changes)/steps] {
			if c.mode == "" {
				if _, err := fmt.Fprintf(h.w, "D %s\n", quotePath(c.path)); err != nil {
					return err
				}
			} else if err := writeFileChange(h.w, c.mode, c.path, c.content); err != nil {
				return err
			}
		}
	}
	return nil
}

// changes returns the differences between a tree and the last commit, ordered by path,
// and records the tree as the new state.
func (h *history) changes(tree string) ([]change, error) {
	files, err := listFiles(tree)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("the package holds no file")
	}
	var changes []change
	gone := make(map[string]bool, len(h.now))
	for path := range h.now {
		gone[path] = true
	}
	for _, f := range files {
		content, err := f.readContent(tree)
		if err != nil {
			return nil, err
		}
		delete(gone, f.path)
		v := version{f.mode, sha256.Sum256(content), int64(len(content)), f.isText(content)}
		if h.now[f.path] != v {
			changes = append(changes, change{f.path, f.mode, content})
			h.now[f.path] = v
		}
	}
	for path := range gone {
		changes = append(changes, change{path: path})
		delete(h.now, path)
	}
	slices.SortFunc(changes, func(a, b change) int { return bytes.Compare([]byte(a.path), []byte(b.path)) })
	return changes, nil
}

// count returns the number and size of the files in the last commit, and of its text
// files.
func (h *history) count() (files int, size int64, textFiles int, textSize int64) {
	for _, v := range h.now {
		files, size = files+1, size+v.size
		if v.text {
			textFiles, textSize = textFiles+1, textSize+v.size
		}
	}
	return files, size, textFiles, textSize
}

// AddBranches creates the bare repository dir, which shares or links the objects of bare,
// with n branches at commits of the first-parent history of its Branch. The commits are
// spread evenly; the last one is that of Branch. Half of the names contain a slash.
// AddBranches returns the commits. It removes dir first.
func AddBranches(ctx context.Context, bare, dir string, n int) ([]string, error) {
	all, err := gitCommand(bare, "rev-list", "--reverse", "--first-parent", "--end-of-options", "refs/heads/"+Branch).captureOutput(ctx)
	if err != nil {
		return nil, err
	}
	commits := bytes.Fields(all)
	if len(commits) < n {
		return nil, fmt.Errorf("%s has %d commits, too few for %d branches", bare, len(commits), n)
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	if err := gitCommand("", "clone", "--quiet", "--bare", "--local", bare, dir).run(ctx); err != nil {
		return nil, err
	}
	packed := bytes.NewBufferString("# pack-refs with: peeled fully-peeled sorted \n")
	type ref struct{ name, commit string }
	refs := []ref{{"refs/heads/" + Branch, string(commits[len(commits)-1])}}
	chosen := make([]string, n)
	for i := range n {
		chosen[i] = string(commits[(i+1)*len(commits)/n-1])
		name := fmt.Sprintf("refs/heads/b%05d", i)
		if i%2 == 1 {
			name = fmt.Sprintf("refs/heads/topic/b%05d", i)
		}
		refs = append(refs, ref{name, chosen[i]})
	}
	slices.SortFunc(refs, func(a, b ref) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	for _, r := range refs {
		fmt.Fprintf(packed, "%s %s\n", r.commit, r.name)
	}
	if err := os.RemoveAll(filepath.Join(dir, "refs", "heads", Branch)); err != nil {
		return nil, err
	}
	return chosen, os.WriteFile(filepath.Join(dir, "packed-refs"), packed.Bytes(), 0o644)
}

// Text describes the distinct text that CollectText found.
type Text struct {
	Files int
	Bytes int64
}

// CollectText creates the bare repository dir, which shares the objects of bare. Its
// single commit on Branch contains every distinct file of all branches of bare. Versions
// of a file follow each other: each is in folders with the path of the file and a number.
// CollectText removes dir first.
func CollectText(ctx context.Context, bare, dir string) (Text, error) {
	var text Text
	trees, err := gitCommand(bare, "for-each-ref", "--format=%(objectname)^{tree}", "refs/heads").captureOutput(ctx)
	if err != nil {
		return text, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return text, err
	}
	if err := gitCommand("", "clone", "--quiet", "--bare", "--local", bare, dir).run(ctx); err != nil {
		return text, err
	}
	seen := map[string]bool{}
	err = fastImport(ctx, dir, func(w *bufio.Writer) error {
		commitHeader(w, "refs/heads/"+Branch, "distinct text", 1)
		if _, err := fmt.Fprintf(w, "from refs/heads/%s^0\ndeleteall\n", Branch); err != nil {
			return err
		}
		for i, tree := range strings.Fields(string(trees)) {
			listed, err := gitCommand(bare, "ls-tree", "-r", "-l", "-z", tree).captureOutput(ctx)
			if err != nil {
				return err
			}
			if err := text.add(w, listed, i, seen); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return text, err
	}
	branches, err := gitCommand(dir, "for-each-ref", "--format=delete %(refname)", "refs/heads/b*", "refs/heads/topic").captureOutput(ctx)
	if err != nil {
		return text, err
	}
	return text, command{dir: dir, env: gitEnv, input: branches, args: []string{"git", "update-ref", "--stdin"}}.run(ctx)
}

// add writes the files of a tree that were not seen before. listed is the output of git
// ls-tree -l -z.
func (t *Text) add(w *bufio.Writer, listed []byte, number int, seen map[string]bool) error {
	for line := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		entry, path, ok := strings.Cut(line, "\t")
		fields := strings.Fields(entry) // mode, kind, object, size
		if !ok || len(fields) != 4 || fields[1] != "blob" || seen[fields[2]] {
			continue
		}
		seen[fields[2]] = true
		size, err := strconv.ParseInt(fields[3], 10, 64)
		if err != nil {
			return err
		}
		t.Files, t.Bytes = t.Files+1, t.Bytes+size
		if _, err := fmt.Fprintf(w, "M %s %s %s\n", fields[0], fields[2], quotePath(fmt.Sprintf("%s/%04d/%s", path, number, path[strings.LastIndexByte(path, '/')+1:]))); err != nil {
			return err
		}
	}
	return nil
}
