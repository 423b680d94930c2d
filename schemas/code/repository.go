package code

import (
	"errors"
	"hash/fnv"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrNotFound reports that a repository, revision, path or document does not exist.
// Packages wrap it with the name of the missing thing.
var ErrNotFound = errors.New("not found")

// RepositoryID identifies a repository permanently. See NewRepositoryID.
type RepositoryID uint64

// repositoryIDBits keeps an ID within the integers that a JSON number represents exactly
// (2^53).
const repositoryIDBits = 52

// NewRepositoryID derives the ID of a repository from its identity: the name of the code
// host and an identifier that the host never reuses (a numeric ID, a UUID, or, if the
// host has nothing better, the clone URL or the project name). The same identity always
// has the same ID, so ingest needs no store to assign one. Among n repositories, two
// share an ID with probability n²/2^53; the catalog rejects the second one.
func NewRepositoryID(host, identity string) RepositoryID {
	h := fnv.New64a()
	_, _ = h.Write([]byte(host))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(identity))
	// FNV's high bits mix poorly for short inputs: fold them (murmur3 fmix64).
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	x >>= 64 - repositoryIDBits
	if x == 0 {
		return 1
	}
	return RepositoryID(x)
}

// String returns the ID in decimal.
func (id RepositoryID) String() string { return strconv.FormatUint(uint64(id), 10) }

// HostKind is the kind of a repository's code host, as spelled in the public API.
type HostKind string

// The kinds of code hosts in the public API.
const (
	GitHub          HostKind = "github"
	GitLab          HostKind = "gitlab"
	Gitea           HostKind = "gitea"
	Gerrit          HostKind = "gerrit"
	BitbucketServer HostKind = "bitbucketServer"
	BitbucketCloud  HostKind = "bitbucketCloud"
	GenericGitHost  HostKind = "genericGitHost"
	AzureDevOps     HostKind = "azuredevops"
)

// Valid reports whether k is one of the kinds above.
func (k HostKind) Valid() bool {
	switch k {
	case GitHub, GitLab, Gitea, Gerrit, BitbucketServer, BitbucketCloud, GenericGitHost, AzureDevOps:
		return true
	}
	return false
}

// Repository describes a repository, whether it is indexed or not.
type Repository struct {
	ID   RepositoryID `json:"id"`
	Kind HostKind     `json:"kind"`
	// Name is the full name: host, then path (github.com/owner/name), or the
	// name chosen at registration. At most MaxNameBytes.
	Name string `json:"name"`
	// DisplayName is the short name for people; empty means Name.
	DisplayName string `json:"displayName,omitempty"`
	// CloneURL is the URL that git fetches from, or an absolute path. It never contains
	// credentials.
	CloneURL string `json:"cloneUrl"`
	// WebURL is the repository's page on its code host; empty if it has none.
	WebURL string `json:"webUrl,omitempty"`
	// ImageURL is the URL of its picture, or its owner's, on any host; see KeepImageURL.
	ImageURL string `json:"imageUrl,omitempty"`
	// Description is its description on the code host, in one line; see KeepDescription.
	Description string `json:"description,omitempty"`
	// DefaultBranch is the short name of the default branch; empty until known.
	DefaultBranch string `json:"defaultBranch,omitempty"`
	// Branches are globs that select, by short name, the branches to index in
	// addition to the default branch.
	Branches []string `json:"branches,omitempty"`
	// Tags are globs that select, by short name, the tags to index.
	Tags []string `json:"tags,omitempty"`
	// Submodules requests that the repositories of its submodules index the commits that
	// its default branch refers to.
	Submodules bool `json:"submodules,omitempty"`
	// Connection is the configured connection through which it was registered; empty if
	// it was registered manually.
	Connection string `json:"connection,omitempty"`
	Fork       bool   `json:"fork,omitempty"`
	Archived   bool   `json:"archived,omitempty"`
	Private    bool   `json:"private,omitempty"`
}

// Bounds of the fields of a Repository, enforced where a repository enters the system.
const (
	MaxNameBytes = 512
	MaxURLBytes  = 2048
	// MaxDescriptionBytes bounds Description. Hosts allow up to 350 (GitHub) or 2,000
	// characters (GitLab).
	MaxDescriptionBytes = 1024
	// MaxRefGlobs bounds Branches and Tags, each.
	MaxRefGlobs     = 256
	MaxRefGlobBytes = 256
)

// KeepImageURL returns s if it is an http(s) URL that is valid as Repository.ImageURL,
// and "" otherwise. Pictures are usually on other hosts than the code: a picture that no
// client should load must not prevent the registration of its repository.
func KeepImageURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || len(s) > MaxURLBytes || u.Host == "" || u.User != nil || !utf8.ValidString(s) || !strings.EqualFold(u.Scheme, "https") && !strings.EqualFold(u.Scheme, "http") {
		return ""
	}
	return s
}

// ResolvePageURL returns the address of a project's pages: path below base, or fromHost if base
// is empty.
func ResolvePageURL(base, path, fromHost string) string {
	if base == "" {
		return fromHost
	}
	return strings.TrimRight(base, "/") + (&url.URL{Path: "/" + path}).EscapedPath()
}

// KeepDescription returns s in a form that is valid as Repository.Description: on one
// line, without control characters, and truncated to MaxDescriptionBytes.
func KeepDescription(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(s) <= MaxDescriptionBytes {
		return s
	}
	const more = "…"
	end := MaxDescriptionBytes - len(more)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.TrimRight(s[:end], " ") + more
}

// Submodule is a reference from a tree to a commit of another repository.
type Submodule struct {
	// CloneURL is the URL in .gitmodules, resolved against the clone URL of the
	// repository that contains the submodule. It is untrusted: anyone who may push there
	// chooses it.
	CloneURL string   `json:"cloneUrl"`
	Commit   CommitID `json:"commit"`
}

// DefaultRef returns the full name of the default branch, empty if unknown.
func (r *Repository) DefaultRef() Ref {
	if r.DefaultBranch == "" {
		return ""
	}
	return BranchRef(r.DefaultBranch)
}
