package code

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// CommitID is the full object name of a commit in lower-case hexadecimal: 40
// characters, or 64 in a SHA-256 repository. Empty means "no commit".
type CommitID string

// ParseCommitID validates s and returns it as a CommitID. The all-zero name, which code
// hosts send for "does not exist", becomes the empty CommitID.
func ParseCommitID(s string) (CommitID, error) {
	if len(s) != 40 && len(s) != 64 {
		return "", fmt.Errorf("commit %.80q: want 40 or 64 hexadecimal characters", s)
	}
	zero := true
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", fmt.Errorf("commit %.80q: want lower-case hexadecimal", s)
		}
		zero = zero && c == '0'
	}
	if zero {
		return "", nil
	}
	return CommitID(s), nil
}

// Ref is a full ref name such as refs/heads/main or refs/tags/v1.
type Ref string

const (
	branchPrefix = "refs/heads/"
	tagPrefix    = "refs/tags/"
	pinPrefix    = "refs/quarry/pins/"
)

// MaxRefBytes bounds the length of a ref name.
const MaxRefBytes = 1024

// BranchRef returns the full name of the branch with the given short name.
func BranchRef(short string) Ref { return Ref(branchPrefix + short) }

// PinRef returns the ref of a pin: a commit to index because a submodule of another
// repository refers to it. The ref exists only in Quarry and never moves.
func PinRef(commit CommitID) Ref { return Ref(pinPrefix + string(commit)) }

// Short returns the name without refs/heads/ or refs/tags/, or the commit of a pin.
func (r Ref) Short() string {
	s := strings.TrimPrefix(string(r), branchPrefix)
	s = strings.TrimPrefix(s, tagPrefix)
	return strings.TrimPrefix(s, pinPrefix)
}

// IsBranch reports whether r is a branch.
func (r Ref) IsBranch() bool { return strings.HasPrefix(string(r), branchPrefix) }

// IsTag reports whether r is a tag.
func (r Ref) IsTag() bool { return strings.HasPrefix(string(r), tagPrefix) }

// IsPin reports whether r is the ref of a pin; see PinRef.
func (r Ref) IsPin() bool { return strings.HasPrefix(string(r), pinPrefix) }

// ErrUnsupportedRef reports the name of a ref that git accepts and Quarry does not index.
var ErrUnsupportedRef = errors.New("such a name is not indexed")

// Validate checks the rules of git-check-ref-format for a full name, and the rules of
// Quarry that protect command lines, addresses and events. Errors of the latter wrap
// ErrUnsupportedRef: the name is UTF-8 of at most MaxRefBytes, its short form does not
// begin with a dash, as options do and names of git branch and git tag do not, and no
// element is "-", which separates revision and path in addresses of pages.
func (r Ref) Validate() error {
	s := string(r)
	if !strings.HasPrefix(s, "refs/") || strings.HasSuffix(s, "/") || strings.HasSuffix(s, ".") {
		return fmt.Errorf("ref %.80q: want a full name such as refs/heads/main", s)
	}
	if strings.Contains(s, "..") || strings.Contains(s, "@{") || strings.Contains(s, "//") {
		return fmt.Errorf("ref %.80q: may not contain \"..\", \"@{\" or \"//\"", s)
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c <= ' ' || c == 0x7f, strings.IndexByte(`~^:?*[\`, c) >= 0:
			return fmt.Errorf("ref %.80q: character %q is not allowed", s, c)
		}
	}
	separator := false
	for element := range strings.SplitSeq(s, "/") {
		if strings.HasPrefix(element, ".") || strings.HasSuffix(element, ".lock") {
			return fmt.Errorf("ref %.80q: element %q is not allowed", s, element)
		}
		separator = separator || element == "-"
	}
	switch {
	case len(s) > MaxRefBytes:
		return fmt.Errorf("ref %.80q of %d bytes, at most %d: %w", s, len(s), MaxRefBytes, ErrUnsupportedRef)
	case !utf8.ValidString(s):
		return fmt.Errorf("ref %.80q is not UTF-8: %w", s, ErrUnsupportedRef)
	case separator:
		return fmt.Errorf("ref %.80q: element \"-\" separates revision and path in addresses of pages: %w", s, ErrUnsupportedRef)
	case strings.HasPrefix(r.Short(), "-"):
		return fmt.Errorf("ref %.80q: the short name begins with a dash, as an option does: %w", s, ErrUnsupportedRef)
	}
	return nil
}

// Revision is a ref and the commit it points to.
type Revision struct {
	Ref    Ref      `json:"ref"`
	Commit CommitID `json:"commit"`
}

// BlobID is the object name of a blob, a hash of its content. In a SHA-256 repository it
// is the first 20 bytes of the name.
type BlobID [20]byte

// ParseBlobID decodes the hexadecimal object name s.
func ParseBlobID(s string) (BlobID, error) {
	var id BlobID
	if len(s) != 40 && len(s) != 64 {
		return id, fmt.Errorf("blob %.80q: want 40 or 64 hexadecimal characters", s)
	}
	if _, err := hex.Decode(id[:], []byte(s[:40])); err != nil {
		return id, fmt.Errorf("blob %.80q: %w", s, err)
	}
	return id, nil
}

// String returns the ID in hexadecimal.
func (id BlobID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText encodes the ID in hexadecimal.
func (id BlobID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText decodes the output of MarshalText.
func (id *BlobID) UnmarshalText(b []byte) error {
	parsed, err := ParseBlobID(string(b))
	*id = parsed
	return err
}

// MaxPathBytes bounds a path in a repository (Linux' PATH_MAX).
const MaxPathBytes = 4096

// ValidatePath returns an error if p is not a valid path of a file in a repository.
func ValidatePath(p string) error {
	if p == "" || len(p) > MaxPathBytes || p[0] == '/' || strings.IndexByte(p, 0) >= 0 {
		return fmt.Errorf("path %.80q: want a relative path of 1 to %d bytes", p, MaxPathBytes)
	}
	for element := range strings.SplitSeq(p, "/") {
		if element == "" || element == "." || element == ".." {
			return fmt.Errorf("path %.80q: element %q is not allowed", p, element)
		}
	}
	return nil
}
