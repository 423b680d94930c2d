package source

import (
	"net/url"
	"path"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/pageurl"
)

// AddressPrefix is the prefix of the address of every page about code.
const AddressPrefix = "/browse/"

// PageKind is the kind of a page about code.
type PageKind string

// The kinds of pages, as addresses spell them.
const (
	PageBlob PageKind = "blob" // a file, with line numbers
	PageRaw  PageKind = "raw"  // the text of a file and nothing else
	PageTree PageKind = "tree" // a directory; the root if the path is empty
	// PageCommits is the history of a file, a directory or the whole repository.
	PageCommits PageKind = "commits"
	// PageCommit and PageCompare have a commit or BASE...HEAD in place of the path.
	PageCommit  PageKind = "commit"
	PageCompare PageKind = "compare"
)

// pageKinds are the kinds that an address may name.
var pageKinds = map[PageKind]bool{PageBlob: true, PageRaw: true, PageTree: true, PageCommits: true, PageCommit: true, PageCompare: true}

// Address is the address of a page about code:
//
//	/browse/REPOSITORY[@REVISION]/-/KIND/PATH
//
// The API, the agents' tools and the pages format and parse addresses only here, so that
// no link leads to a page that does not exist.
type Address struct {
	Repository string
	// Revision is a branch, tag or commit; empty means the default branch.
	Revision string
	Kind     PageKind
	Path     string
}

// String returns the address as an escaped path.
func (a Address) String() string {
	b := []byte(AddressPrefix + escapeRepository(a.Repository))
	if a.Revision != "" {
		b = pageurl.AppendPath(append(b, '@'), a.Revision, true)
	}
	b = append(b, separator+string(a.Kind)+"/"...)
	return string(AppendPath(b, a.Path))
}

// AppendPath appends the path of an address, escaped. Slashes are not escaped, except those
// of a path with an element that browsers and proxies would remove, such as "..".
func AppendPath(b []byte, name string) []byte {
	return pageurl.AppendPath(b, name, path.Clean("/"+name) == "/"+name)
}

// separator separates the repository from the kind.
const separator = "/-/"

// escapeRepository also escapes the separators of an address.
func escapeRepository(name string) string {
	escaped := strings.ReplaceAll(string(pageurl.AppendPath(nil, name, true)), "@", "%40")
	return strings.ReplaceAll(escaped, separator, "/%2D/")
}

// Limits of an address, which is untrusted input.
const (
	maxReadings     = 32
	maxAddressBytes = 3 * (code.MaxNameBytes + code.MaxRefBytes + code.MaxPathBytes + 64) // the whole address, escaped
)

// ReadAddress returns the readings of the escaped path of a page, most likely first.
// There is more than one if a name contains an unescaped separator; the first reading
// with a known repository then counts. Slashes may be escaped or not. An address without
// a kind is the root of a repository.
func ReadAddress(escaped string) []Address {
	rest, ok := strings.CutPrefix(escaped, AddressPrefix)
	if !ok || len(escaped) > maxAddressBytes {
		return nil
	}
	var readings []Address
	for i := 0; i < len(rest) && len(readings) < maxReadings; i++ {
		if strings.HasPrefix(rest[i:], separator) {
			kind, path, _ := strings.Cut(rest[i+len(separator):], "/")
			readings = appendReadings(readings, rest[:i], PageKind(kind), path)
		}
	}
	return appendReadings(readings, strings.TrimSuffix(rest, "/"), PageTree, "")
}

// appendReadings adds a reading for each "@" that may separate the revision, then the one
// without a revision.
func appendReadings(readings []Address, name string, kind PageKind, path string) []Address {
	if !pageKinds[kind] {
		return readings
	}
	path, err := url.PathUnescape(path)
	if err != nil {
		return readings
	}
	if kind == PageTree || kind == PageCommits {
		path = strings.Trim(path, "/")
	}
	add := func(repository, revision string) {
		repository, err1 := url.PathUnescape(repository)
		revision, err2 := url.PathUnescape(revision)
		if err1 == nil && err2 == nil && repository != "" && len(readings) < maxReadings {
			readings = append(readings, Address{repository, revision, kind, path})
		}
	}
	for i := range len(name) {
		if name[i] == '@' {
			add(name[:i], name[i+1:])
		}
	}
	add(name, "")
	return readings
}
