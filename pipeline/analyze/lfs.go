package analyze

import (
	"bytes"
	"slices"
	"strings"
)

// maxPointerBytes is the maximum size of a pointer file in the Git LFS specification.
const maxPointerBytes = 1024

// pointerVersions are the URLs in the first lines of pointer files: the current one, and
// those from before its first release.
var pointerVersions = []string{"https://git-lfs.github.com/spec/v1", "https://hawser.github.com/spec/v1", "http://git-media.io/v/2"}

// isLFSPointer reports whether content is a Git LFS pointer file, which replaces a file
// in another store. Every line must conform to the specification, so that text that only
// begins like a pointer is searched. As for Git LFS itself, lines may end with CRLF, and
// the last line may lack its end.
func isLFSPointer(content []byte) bool {
	if len(content) > maxPointerBytes || !bytes.HasPrefix(content, []byte("version ")) {
		return false
	}
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n"), "\n")
	hasOID, hasSize := false, false
	for i, line := range lines {
		key, value, _ := strings.Cut(line, " ")
		switch {
		case i == 0:
			if !slices.Contains(pointerVersions, value) {
				return false
			}
		case key == "oid" && isSHA256(value):
			hasOID = true
		case key == "size" && isDecimal(value):
			hasSize = true
		case strings.HasPrefix(key, "ext-") && isSHA256(value):
		default:
			return false
		}
	}
	return hasOID && hasSize
}

func isSHA256(value string) bool {
	hash, ok := strings.CutPrefix(value, "sha256:")
	return ok && len(hash) == 64 && strings.Trim(hash, "0123456789abcdef") == ""
}

func isDecimal(value string) bool {
	return value != "" && len(value) <= 20 && strings.Trim(value, "0123456789") == ""
}
