package corpus

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Built describes one repository of a Manifest.
type Built struct {
	Name      string   `json:"name"`
	Set       string   `json:"set"`
	Commit    string   `json:"commit"`
	Files     int      `json:"files"`
	Bytes     int64    `json:"bytes"`
	TextFiles int      `json:"textFiles"`
	TextBytes int64    `json:"textBytes"` // size of files of at most MaxTextBytes without a NUL byte at their start
	Served    []string `json:"served"`    // NAME@VERSION as actually served
	Pushes    []Push   `json:"pushes,omitempty"`
	Entry     string   `json:"entry"` // checksum of its list entry
}

// Manifest is OUT/corpora.json.
type Manifest struct {
	Repositories []Built `json:"repositories"`
}

// Set returns the repositories of a set, in the order of the list.
func (m Manifest) Set(name string) []Built {
	var set []Built
	for _, b := range m.Repositories {
		if b.Set == name {
			set = append(set, b)
		}
	}
	return set
}

// Options are the options of Build.
type Options struct {
	// Out is the output directory. It must be outside of any source tree.
	Out string
	// Only limits the build to these names. Empty means all.
	Only []string
	// MinFreeBytes is the free space on Out's file system that is required before each
	// repository. Default 12 GiB.
	MinFreeBytes uint64
	// Timeout bounds one repository. Default 40 minutes.
	Timeout time.Duration
	// Progress receives one line per step. Default: nothing.
	Progress func(format string, args ...any)
}

func (o *Options) ensureDefaults() {
	if o.MinFreeBytes == 0 {
		o.MinFreeBytes = 12 << 30
	}
	if o.Timeout == 0 {
		o.Timeout = 40 * time.Minute
	}
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
}

// ErrDiskSpace is returned when the file system has less free space than Options.MinFreeBytes.
var ErrDiskSpace = errors.New("not enough free disk space for the corpora")

// Build creates every repository of list that does not exist yet. If one fails, the
// others are still built; the error joins all failures.
func Build(ctx context.Context, list List, opts Options) (Manifest, error) {
	opts.ensureDefaults()
	previous, err := ReadManifest(opts.Out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Manifest{}, err
	}
	b := &builder{Options: opts, previous: previous}
	var manifest Manifest
	var failures []error
	for i, r := range list.Repositories {
		built, err := b.ensureRepository(ctx, r, fmt.Sprintf("[%d/%d] %s", i+1, len(list.Repositories), r.Name))
		if ctx.Err() != nil || errors.Is(err, ErrDiskSpace) {
			return manifest, errors.Join(append(failures, err, ctx.Err())...)
		}
		if err != nil {
			opts.Progress("[%d/%d] %s: FAILED: %v", i+1, len(list.Repositories), r.Name, err)
			failures = append(failures, fmt.Errorf("build %s: %w", r.Name, err))
			continue
		}
		if built == nil {
			continue
		}
		manifest.Repositories = append(manifest.Repositories, *built)
		if err := b.saveManifest(list, manifest); err != nil {
			return manifest, err
		}
	}
	return manifest, errors.Join(failures...)
}

type builder struct {
	Options
	previous Manifest
}

// ensureRepository returns nil if Only excludes the repository and it was never built.
func (b *builder) ensureRepository(ctx context.Context, r Repository, label string) (*Built, error) {
	entry, err := entryChecksum(r)
	if err != nil {
		return nil, err
	}
	known := b.findBuilt(r.Name)
	if known != nil && (known.Entry == entry || !b.isWanted(r.Name)) {
		b.Progress("%s: there already", label)
		return known, nil
	}
	if !b.isWanted(r.Name) {
		return nil, nil
	}
	if err := b.checkDisk(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	b.Progress("%s: fetching from %s", label, r.From)
	start := time.Now()
	built, err := b.buildRepository(ctx, r)
	if err != nil {
		return nil, err
	}
	built.Entry = entry
	b.Progress("%s: %d files, %.1f MB of text, %s", label, built.Files, float64(built.TextBytes)/1e6, time.Since(start).Round(time.Second))
	return &built, nil
}

func (b *builder) buildRepository(ctx context.Context, r Repository) (Built, error) {
	scratch := filepath.Join(b.Out, "tmp", r.Name)
	if err := os.RemoveAll(scratch); err != nil {
		return Built{}, err
	}
	defer os.RemoveAll(scratch)
	tree, bare := filepath.Join(scratch, "tree"), filepath.Join(scratch, "git")
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return Built{}, err
	}
	if r.Steps > 0 {
		return b.buildHistory(ctx, r, scratch)
	}
	built := Built{Name: r.Name, Set: r.Set}
	var err error
	if built.Served, err = b.fetchPackages(ctx, r, tree); err != nil {
		return Built{}, err
	}
	files, err := listFiles(tree)
	if err != nil {
		return Built{}, err
	}
	if err := importTree(ctx, bare, tree, files, &built); err != nil {
		return Built{}, err
	}
	if built.Commit, err = resolveCommit(ctx, bare, "refs/heads/"+Branch); err != nil {
		return Built{}, err
	}
	if err := replaceDirectory(tree, TreePath(b.Out, r.Name)); err != nil {
		return Built{}, err
	}
	if err := replaceDirectory(bare, GitPath(b.Out, r.Name)); err != nil {
		return Built{}, err
	}
	if r.Pushes > 0 {
		built.Pushes, err = preparePushes(ctx, GitPath(b.Out, r.Name), PushPath(b.Out, r.Name), TreePath(b.Out, r.Name), r.Name, files, r.Pushes)
	}
	return built, err
}

// fetchPackages puts several packages into folders named after them, or a single package
// into the root of the tree.
func (b *builder) fetchPackages(ctx context.Context, r Repository, tree string) ([]string, error) {
	cache := filepath.Join(b.Out, "cache")
	fetch := fetchers[r.From]
	if len(r.Packages) == 0 {
		version, err := fetch(ctx, "", "", cache, tree)
		return []string{r.Name + "@" + version}, err
	}
	var served []string
	for _, p := range r.Packages {
		name, version := splitPackage(p)
		own := filepath.Join(cache, strings.NewReplacer("/", "_", ":", "_").Replace(string(r.From)+"-"+p))
		if err := os.MkdirAll(own, 0o755); err != nil {
			return nil, err
		}
		dest := tree
		if len(r.Packages) > 1 {
			dest = filepath.Join(tree, filepath.FromSlash(strings.NewReplacer(":", "/", "@", "").Replace(name)))
			if err := os.MkdirAll(filepath.Dir(dest), 0o755); err != nil {
				return nil, err
			}
		}
		got, err := fetch(ctx, name, version, own, dest)
		if err != nil {
			return nil, fmt.Errorf("fetch %s: %w", p, err)
		}
		if got != version {
			b.Progress("%s: %s is no longer served, took %s", r.Name, p, got)
		}
		served = append(served, name+"@"+got)
	}
	return served, nil
}

// importTree commits files to a new bare repository and adds their counts to built.
func importTree(ctx context.Context, bare, tree string, files []file, built *Built) error {
	if len(files) == 0 {
		return errors.New("the packages hold no file")
	}
	if err := initBare(ctx, bare); err != nil {
		return err
	}
	return fastImport(ctx, bare, func(w *bufio.Writer) error {
		commitHeader(w, "refs/heads/"+Branch, "import "+strings.Join(built.Served, " "), 0)
		for _, f := range files {
			content, err := f.readContent(tree)
			if err != nil {
				return err
			}
			if err := writeFileChange(w, f.mode, f.path, content); err != nil {
				return err
			}
			built.Files++
			built.Bytes += int64(len(content))
			if f.isText(content) {
				built.TextFiles++
				built.TextBytes += int64(len(content))
			}
		}
		return nil
	})
}

// replaceDirectory moves a finished folder to its final path.
func replaceDirectory(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

func (b *builder) findBuilt(name string) *Built {
	for _, built := range b.previous.Repositories {
		if _, err := os.Stat(GitPath(b.Out, name)); built.Name == name && err == nil {
			return &built
		}
	}
	return nil
}

func (b *builder) isWanted(name string) bool {
	for _, only := range b.Only {
		if only == name {
			return true
		}
	}
	return len(b.Only) == 0
}

func (b *builder) checkDisk() error {
	if err := os.MkdirAll(b.Out, 0o755); err != nil {
		return err
	}
	var stat syscall.Statfs_t
	if err := syscall.Statfs(b.Out, &stat); err != nil {
		return fmt.Errorf("statfs %s: %w", b.Out, err)
	}
	if free := stat.Bavail * uint64(stat.Bsize); free < b.MinFreeBytes {
		return fmt.Errorf("%w: %s has %d MiB free, %d MiB wanted", ErrDiskSpace, b.Out, free>>20, b.MinFreeBytes>>20)
	}
	return nil
}

// saveManifest writes the manifest of everything built so far. It keeps the entries of an
// earlier run that this run has not reached yet.
func (b *builder) saveManifest(list List, manifest Manifest) error {
	done := make(map[string]bool, len(manifest.Repositories))
	merged := manifest
	for _, built := range manifest.Repositories {
		done[built.Name] = true
	}
	for _, r := range list.Repositories {
		if known := b.findBuilt(r.Name); known != nil && !done[r.Name] {
			merged.Repositories = append(merged.Repositories, *known)
		}
	}
	data, err := json.MarshalIndent(merged, "", " ")
	if err != nil {
		return err
	}
	path := manifestPath(b.Out)
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func entryChecksum(r Repository) (string, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}
