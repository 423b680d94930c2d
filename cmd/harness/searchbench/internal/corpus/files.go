package corpus

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// These are the limits of one repository. They are far above the listed sizes and stop a
// package that has changed.
const (
	maxFiles      = 400_000
	maxTreeBytes  = 6 << 30
	maxFileBytes  = 256 << 20
	maxPathLength = 1024
)

// MaxTextBytes is the size up to which search engines index a file by default. Larger
// files do not count as text.
const MaxTextBytes = 2 << 20

// binaryProbe is the number of bytes of a file that are searched for a NUL byte, which
// marks a binary file (as in git).
const binaryProbe = 8000

// file is one regular file or symbolic link of a tree.
type file struct {
	path string // relative, with slashes
	size int64
	mode string // git's mode: 100644, 100755, 120000
}

// listFiles walks root in path order. It omits version control folders of the packages,
// because a repository cannot contain them.
func listFiles(root string) ([]file, error) {
	var files []file
	var total int64
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == ".git" && path != root {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			return nil
		}
		f, ok, err := describeFile(root, path, entry)
		if err != nil || !ok {
			return err
		}
		total += f.size
		files = append(files, f)
		if len(files) > maxFiles || total > maxTreeBytes {
			return fmt.Errorf("%s: more than %d files or %d bytes", root, maxFiles, int64(maxTreeBytes))
		}
		return nil
	})
	sort.Slice(files, func(i, j int) bool { return files[i].path < files[j].path })
	return files, err
}

// describeFile returns what git records of a file. ok is false for files that git cannot
// store (sockets, devices) and for files beyond the limits.
func describeFile(root, path string, entry fs.DirEntry) (f file, ok bool, err error) {
	info, err := entry.Info()
	if err != nil {
		return file{}, false, err
	}
	relative, err := filepath.Rel(root, path)
	if err != nil {
		return file{}, false, err
	}
	f = file{path: filepath.ToSlash(relative), size: info.Size(), mode: "100644"}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		f.mode = "120000"
	case !info.Mode().IsRegular():
		return file{}, false, nil
	case info.Mode()&0o100 != 0:
		f.mode = "100755"
	}
	return f, len(f.path) <= maxPathLength && f.size <= maxFileBytes, nil
}

// readContent reads a file, or the target of a link.
func (f file) readContent(root string) ([]byte, error) {
	path := filepath.Join(root, filepath.FromSlash(f.path))
	if f.mode == "120000" {
		target, err := os.Readlink(path)
		return []byte(target), err
	}
	return os.ReadFile(path)
}

// isText reports whether search engines are expected to index content.
func (f file) isText(content []byte) bool {
	return f.mode != "120000" && len(content) <= MaxTextBytes && bytes.IndexByte(content[:min(len(content), binaryProbe)], 0) < 0
}

// copyTree copies regular files and links. It makes them writable, because package caches
// are read-only.
func copyTree(source, dest string) error {
	return filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		target := filepath.Join(dest, relative)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case entry.Type().IsRegular():
			return copyFile(path, target, entry)
		}
		return nil
	})
}

func copyFile(source, target string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeFile(target, in, info.Mode().Perm()|0o600)
}

func writeFile(target string, r io.Reader, perm fs.FileMode) error {
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(r, maxFileBytes+1))
	if err == nil && n > maxFileBytes {
		err = fmt.Errorf("%s is larger than %d bytes", target, maxFileBytes)
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	return err
}

// unpackTar unpacks an archive with any compression, without its single top folder.
func unpackTar(ctx context.Context, archive, dest string) error {
	if err := os.MkdirAll(dest, 0o755); err != nil {
		return err
	}
	return command{args: []string{
		"tar", "--extract", "--file", archive, "--directory", dest, "--strip-components=1", "--no-same-owner", "--no-same-permissions", "--delay-directory-restore",
	}}.run(ctx)
}

// unpackZip unpacks a jar. It rejects entries that would leave dest.
func unpackZip(archive, dest string) error {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer r.Close()
	for _, entry := range r.File {
		if strings.HasSuffix(entry.Name, "/") {
			continue
		}
		if !filepath.IsLocal(entry.Name) {
			return fmt.Errorf("%s: entry %q leaves the archive", archive, entry.Name)
		}
		if err := unzipEntry(entry, filepath.Join(dest, entry.Name)); err != nil {
			return err
		}
	}
	return nil
}

func unzipEntry(entry *zip.File, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	in, err := entry.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	err = writeFile(target, in, 0o644)
	if os.IsExist(err) { // some jars list an entry twice; as in the class loader, the first one counts
		return nil
	}
	return err
}
