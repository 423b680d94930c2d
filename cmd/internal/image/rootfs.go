package image

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// maxTreeBytes bounds the files of one layer.
const maxTreeBytes = 512 << 20

// rootfs is a root file system in memory, by path without a leading slash.
type rootfs struct {
	entries map[string]entry
	bytes   int64
}

type entry struct {
	tar.Header
	content []byte
}

// mergedDirs are links into usr, as in every current Debian system. Packages may still
// contain files below them.
var mergedDirs = []string{"bin", "lib", "lib64", "sbin"}

// leftOutDirs are directories of packages that no program needs while it runs.
var leftOutDirs = []string{
	"etc/bash_completion.d", "etc/cron.daily", "etc/init.d", "usr/lib/systemd", "usr/sbin", "usr/share/bash-completion", "usr/share/bug",
	"usr/share/git-core/contrib", "usr/share/info", "usr/share/lintian", "usr/share/locale", "usr/share/man", "usr/share/perl5", "var",
}

func newRootfs() *rootfs { return &rootfs{entries: map[string]entry{}} }

// cleanPath returns the path of a file in the image. It never leads out of it.
func cleanPath(name string) string {
	clean := path.Clean("/" + name)[1:]
	if first, _, _ := strings.Cut(clean, "/"); slices.Contains(mergedDirs, first) {
		return "usr/" + clean
	}
	return clean
}

// isLeftOut reports whether a file of a package is not put into the image. Of the
// documentation, only the licenses are.
func isLeftOut(name string) bool {
	if strings.HasPrefix(name, "usr/share/doc/") {
		return path.Base(name) != "copyright"
	}
	return name == "" || slices.ContainsFunc(leftOutDirs, func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") })
}

// add adds a file, directory or link with the owner in header, and the directories above
// it. It keeps only the bits of the mode that allow reading, writing and executing.
func (r *rootfs) add(header tar.Header, content []byte) error {
	name := cleanPath(header.Name)
	if r.bytes += int64(len(content)); r.bytes > maxTreeBytes {
		return fmt.Errorf("%s: the layer has more than %d MiB", name, maxTreeBytes>>20)
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := r.entries[dir]; !ok {
			r.entries[dir] = entry{Header: tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}}
		}
	}
	r.entries[name] = entry{content: content, Header: tar.Header{
		Name: name, Typeflag: header.Typeflag, Linkname: header.Linkname, Mode: header.Mode & 0o1777,
		Uid: header.Uid, Gid: header.Gid, Size: int64(len(content)),
	}}
	return nil
}

// addFile adds a file that everyone may read and only root may write.
func (r *rootfs) addFile(name string, mode int64, content []byte) error {
	return r.add(tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: mode}, content)
}

// addArchive adds the files of a package. All of them belong to root.
func (r *rootfs) addArchive(archive io.Reader) error {
	for files := tar.NewReader(io.LimitReader(archive, 2*maxTreeBytes)); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := cleanPath(h.Name)
		if isLeftOut(name) {
			continue
		}
		header := tar.Header{Name: name, Typeflag: h.Typeflag, Linkname: h.Linkname, Mode: h.Mode &^ 0o7000}
		var content []byte
		switch h.Typeflag {
		case tar.TypeReg:
			if h.Size > maxTreeBytes-r.bytes {
				return fmt.Errorf("%s: the layer has more than %d MiB", name, maxTreeBytes>>20)
			}
			if content, err = io.ReadAll(files); err != nil {
				return err
			}
		case tar.TypeLink:
			header.Linkname = cleanPath(h.Linkname)
		case tar.TypeDir, tar.TypeSymlink:
		default:
			return fmt.Errorf("%s: a package contains a file of type %q", name, h.Typeflag)
		}
		if err := r.add(header, content); err != nil {
			return err
		}
	}
}

// joinCertificates writes the file of certificate authorities that git and Go read. In
// Debian a script of the package does so.
func (r *rootfs) joinCertificates() error {
	var joined bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(r.entries)) {
		if strings.HasPrefix(name, "usr/share/ca-certificates/") && strings.HasSuffix(name, ".crt") {
			joined.Write(r.entries[name].content)
		}
	}
	if joined.Len() == 0 {
		return errors.New("the packages contain no certificate authorities; ca-certificates is missing")
	}
	return r.addFile("etc/ssl/certs/ca-certificates.crt", 0o644, joined.Bytes())
}

// checkLibraries returns an error that names the libraries that programs link and that
// are not in the image.
func (r *rootfs) checkLibraries() error {
	present := map[string]bool{}
	for name := range r.entries {
		present[path.Base(name)] = true
	}
	var missing []string
	for name, e := range r.entries {
		if !bytes.HasPrefix(e.content, []byte(elf.ELFMAG)) {
			continue
		}
		f, err := elf.NewFile(bytes.NewReader(e.content))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		libraries, err := f.ImportedLibraries()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, library := range libraries {
			if !present[library] {
				missing = append(missing, library+", which "+name+" links")
			}
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("libraries are missing from the image: %s", strings.Join(missing, "; "))
	}
	return nil
}

// writeLayer writes the files as a tar archive. Hard links follow the files to which they
// lead.
func (r *rootfs) writeLayer(out io.Writer, when time.Time) error {
	names := slices.SortedFunc(maps.Keys(r.entries), func(a, b string) int {
		if linkA, linkB := r.entries[a].Typeflag == tar.TypeLink, r.entries[b].Typeflag == tar.TypeLink; linkA != linkB {
			if linkA {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	w := tar.NewWriter(out)
	for _, name := range names {
		e := r.entries[name]
		header := e.Header
		header.ModTime, header.Format = when, tar.FormatPAX
		if header.Typeflag == tar.TypeDir {
			header.Name += "/"
		}
		if err := w.WriteHeader(&header); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := w.Write(e.content); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return w.Close()
}
