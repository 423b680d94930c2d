package permissions

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// These are the mode bits for users other than the owner.
const (
	otherBits      fs.FileMode = 0o077
	othersWrite    fs.FileMode = 0o022
	everybodyReads fs.FileMode = 0o004
)

// Access describes what users other than the owner of a file may do with it.
type Access struct {
	Path string
	Mode fs.FileMode
}

// Open returns what other users may do with the file at path; it follows links. ok
// is false if they may do nothing.
func Open(path string) (a Access, ok bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return Access{}, false, err
	}
	return Access{path, info.Mode()}, enforced && info.Mode()&otherBits != 0, nil
}

// OwnerOf returns the owner of the file at path, and whether that is the user of this
// process.
func OwnerOf(path string) (ours bool, user uint32, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, 0, err
	}
	user, ours = ownerOf(info)
	return ours || !enforced, user, nil
}

// Octal returns the permissions in the notation of chmod.
func (a Access) Octal() string { return fmt.Sprintf("%04o", a.Mode.Perm()) }

// Writable reports whether other users may change the file or, in a directory, replace
// its files.
func (a Access) Writable() bool { return a.Mode&othersWrite != 0 }

// ReadableByEverybody reports whether users beyond the file's group may read it.
func (a Access) ReadableByEverybody() bool { return a.Mode&everybodyReads != 0 }

// Command returns the shell command that makes the file private.
func (a Access) Command() string {
	mode := "600"
	if a.Mode.IsDir() {
		mode = "700"
	}
	return "chmod " + mode + " " + quoteShell(a.Path)
}

// quoteShell quotes a path as one word of a shell command.
func quoteShell(path string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@,=", r)
	}
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 && path[0] != '-' {
		return path
	}
	if strings.HasPrefix(path, "-") {
		path = "." + string(filepath.Separator) + path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
