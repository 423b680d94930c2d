package mirror

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/quarrysearch/quarry/schemas/code"
)

// ObjectID is the full name of a git object: 20 bytes of SHA-1 or 32 of SHA-256. The zero
// ObjectID means none. ObjectIDs are comparable.
type ObjectID struct {
	sum [32]byte
	len uint8
}

// ParseObjectID decodes 40 or 64 hexadecimal characters. The all-zero name,
// which git writes for "none", becomes the zero ObjectID.
func ParseObjectID(s []byte) (ObjectID, error) {
	var id ObjectID
	if len(s) != 40 && len(s) != 64 {
		return id, fmt.Errorf("object name %.80q: want 40 or 64 hexadecimal characters", s)
	}
	if _, err := hex.Decode(id.sum[:], s); err != nil {
		return ObjectID{}, fmt.Errorf("object name %.80q: %w", s, err)
	}
	if id.sum != [32]byte{} {
		id.len = uint8(len(s) / 2)
	}
	return id, nil
}

// IsZero reports whether id means none.
func (id ObjectID) IsZero() bool { return id.len == 0 }

// String returns the name in lower-case hexadecimal; empty for none.
func (id ObjectID) String() string { return hex.EncodeToString(id.sum[:id.len]) }

// matchesContent reports whether id is the name of an object of the given kind, blob or
// commit, with this content.
func (id ObjectID) matchesContent(kind string, content []byte) bool {
	h := sha1.New()
	if id.len == sha256.Size {
		h = sha256.New()
	}
	var header [32]byte
	h.Write(append(strconv.AppendInt(append(append(header[:0], kind...), ' '), int64(len(content)), 10), 0))
	h.Write(content)
	return bytes.Equal(h.Sum(header[:0]), id.sum[:id.len])
}

func (id ObjectID) append(b []byte) []byte { return hex.AppendEncode(b, id.sum[:id.len]) }

// Blob returns the first 20 bytes, by which documents identify their content.
func (id ObjectID) Blob() code.BlobID { return code.BlobID(id.sum[:20]) }

// Mode is the mode of a tree entry.
type Mode uint32

// The modes that git writes today. Old repositories contain other modes, such as 100664,
// which IsFile treats as a file.
const (
	ModeFile       Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeSymlink    Mode = 0o120000
	ModeSubmodule  Mode = 0o160000
)

// typeMask selects the file type in a mode.
const typeMask Mode = 0o170000

// Type returns the file type in m, without permissions.
func (m Mode) Type() Mode { return m & typeMask }

// IsFile reports whether an entry of mode m is a regular file.
func (m Mode) IsFile() bool { return m&typeMask == 0o100000 }

// IsSymlink reports whether an entry of mode m is a symbolic link.
func (m Mode) IsSymlink() bool { return m&typeMask == ModeSymlink }

// IsSubmodule reports whether an entry of mode m is a submodule: a commit of another
// repository.
func (m Mode) IsSubmodule() bool { return m&typeMask == ModeSubmodule }

// Entry is one file of a tree. The zero Entry means "no such file".
type Entry struct {
	Mode Mode
	ID   ObjectID
	// Size is the size in bytes; -1 if it is unknown or the object is missing.
	Size int64
}
