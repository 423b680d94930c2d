package ondisk

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// OpenBelow opens the directory at an absolute path if it is below an allowed root. Its
// errors are returned unchanged. An error that wraps fs.ErrNotExist means that the
// directory does not exist.
type OpenBelow func(path string) (*os.Root, error)

// Repository is a git repository on disk.
type Repository struct {
	// head contains HEAD. common contains refs and objects; it is a different directory
	// if the repository is a linked worktree.
	head, common *directory
	// objects are the repository's own object directory and those that it borrows from.
	objects []*directory
	// alternates counts the object directories named in alternates files.
	alternates int
	format     string
	partial    bool
	// packed are the branches and tags in packed-refs, once they have been read.
	packed Refs
}

// Open opens the repository at an absolute path: a work tree, its .git, or a bare
// repository. The caller must close it. It fails with ErrNotRepository, ErrRefused or an
// error of openBelow.
func Open(path string, openBelow OpenBelow) (*Repository, error) {
	r := &Repository{}
	if err := r.open(path, openBelow); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Repository) open(path string, openBelow OpenBelow) (err error) {
	if path, err = findGitDirectory(path, openBelow); err != nil {
		return err
	}
	if r.head, err = openAt(path, openBelow); err != nil {
		return err
	}
	if r.common, err = r.openCommon(openBelow); err != nil {
		return err
	}
	if err := r.readConfig(); err != nil {
		return err
	}
	if _, err := r.head.root.Lstat("HEAD"); err != nil {
		return fmt.Errorf("%w: %s has no HEAD", ErrNotRepository, path)
	}
	objects, err := r.common.openDirectory("objects")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s has no objects", ErrNotRepository, path)
	} else if err != nil {
		return err
	}
	r.objects = append(r.objects, objects)
	return r.openAlternates(objects, openBelow, 0)
}

// Close closes the directories.
func (r *Repository) Close() {
	for _, d := range append(r.objects, r.head, r.common) {
		if d != nil {
			d.close()
		}
	}
}

// Format returns the object format: sha1 or sha256.
func (r *Repository) Format() string { return r.format }

// promisor matches the entries of a configuration that mark a partial clone: of a remote,
// or of the section extensions in older ones.
var promisor = regexp.MustCompile(`(?mi)^\s*(?:promisor\s*=\s*true|partialclone\s*=)`)

// IsPartial reports whether the repository is a partial clone, which lacks objects until
// git needs them.
func (r *Repository) IsPartial() bool { return r.partial }

// Shallow returns the commits of a shallow clone whose parents are missing.
func (r *Repository) Shallow() ([]code.CommitID, error) {
	b, err := r.common.readFile("shallow", maxRefsBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var commits []code.CommitID
	for line := range bytes.Lines(b) {
		id, err := code.ParseCommitID(string(bytes.TrimSpace(line)))
		if err != nil || id == "" {
			// The message omits the line, which may contain anything.
			return nil, fmt.Errorf("%w: line %d of %s is no name of a commit", ErrRefused, len(commits)+1, r.common.joinPath("shallow"))
		}
		commits = append(commits, id)
	}
	return commits, nil
}

func openAt(path string, openBelow OpenBelow) (*directory, error) {
	root, err := openBelow(path)
	if err != nil {
		return nil, err
	}
	return &directory{root: root, path: path}, nil
}

// findGitDirectory returns the git directory for a path: its .git, the target of a .git
// file, or the path itself.
func findGitDirectory(path string, openBelow OpenBelow) (string, error) {
	path = filepath.Clean(path)
	tree := path
	if filepath.Base(path) == ".git" {
		tree = filepath.Dir(path)
	}
	d, err := openAt(tree, openBelow)
	if err != nil && tree != path {
		return path, nil // .git itself is a root
	} else if err != nil {
		return "", err
	}
	defer d.close()
	info, err := d.root.Lstat(".git")
	switch {
	case err != nil:
		return path, nil
	case !info.Mode().IsRegular():
		return filepath.Join(tree, ".git"), nil // a link is resolved and checked against the roots
	}
	b, err := d.readFile(".git", maxLineFileBytes)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(cutLine(b), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%s: %w", d.joinPath(".git"), ErrNotRepository)
	}
	return joinRelative(tree, target), nil
}

// openCommon opens the directory that contains refs and objects.
func (r *Repository) openCommon(openBelow OpenBelow) (*directory, error) {
	b, err := r.head.readFile("commondir", maxLineFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return r.head, nil
	} else if err != nil {
		return nil, err
	}
	return openAt(joinRelative(r.head.path, cutLine(b)), openBelow)
}

// readConfig reads the object and ref formats.
func (r *Repository) readConfig() error {
	b, err := r.common.readFile("config", maxConfigBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.partial = promisor.Match(b)
	extensions := readExtensions(b)
	if r.format = extensions["objectformat"]; r.format == "" {
		r.format = "sha1"
	}
	if r.format != "sha1" && r.format != "sha256" {
		return fmt.Errorf("%w: %s has an unknown extensions.objectFormat", ErrRefused, r.common.joinPath("config"))
	}
	if storage := extensions["refstorage"]; storage != "" && storage != "files" {
		return fmt.Errorf("%w: %s does not keep its refs in files; convert it with git refs migrate --ref-format=files", ErrRefused, r.common.path)
	}
	return nil
}

// readExtensions returns the entries of the section extensions of a configuration, with
// lower-case keys. It supports only the syntax that git itself writes there.
func readExtensions(config []byte) map[string]string {
	extensions, inside := map[string]string{}, false
	lines := bufio.NewScanner(bytes.NewReader(config))
	lines.Buffer(nil, maxConfigBytes+1)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			section, rest, _ := strings.Cut(line[1:], "]")
			inside = strings.EqualFold(strings.TrimSpace(section), "extensions")
			line = strings.TrimSpace(rest)
		}
		if key, value, ok := strings.Cut(line, "="); ok && inside {
			value, _, _ = strings.Cut(value, "#")
			extensions[strings.ToLower(strings.TrimSpace(key))] = strings.ToLower(strings.Trim(strings.TrimSpace(value), `"`))
		}
	}
	return extensions
}

// openAlternates opens the object directories that another one borrows from. Each must be
// below the roots, because the owner of the repository must not decide which other files
// are read. It skips missing ones, as git does.
func (r *Repository) openAlternates(objects *directory, openBelow OpenBelow, depth int) error {
	b, err := objects.readFile("info/alternates", maxAlternatesBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '"':
			return fmt.Errorf("%w: %s names a path with special characters", ErrRefused, objects.joinPath("info/alternates"))
		case depth == maxAlternateDepth || r.alternates == maxObjectDirectories:
			return fmt.Errorf("%w: more than %d repositories borrow objects from one another, or a chain of more than %d", ErrRefused, maxObjectDirectories, maxAlternateDepth)
		}
		r.alternates++ // a missing one counts too, because the lookup takes time
		next, err := openAt(joinRelative(objects.path, line), openBelow)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return fmt.Errorf("objects borrowed by the repository: %w", err)
		}
		r.objects = append(r.objects, next)
		if err := r.openAlternates(next, openBelow, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func joinRelative(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}
