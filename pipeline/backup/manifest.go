package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// FormatVersion is the version of backup directories that this release reads and writes.
const FormatVersion = 1

const (
	// MaxFiles bounds the number of files in a generation.
	MaxFiles = 1 << 20
	// maxLineBytes bounds a line of a manifest. The first line contains a position for
	// each of the at most 1,024 partitions of a topic.
	maxLineBytes = 1 << 20
	// maxMissingNames bounds the number of missing objects that a manifest names.
	maxMissingNames = 20
)

// ErrManifest means that a manifest differs from what was written.
var ErrManifest = errors.New("damaged manifest")

// These are the values of Manifest.Log and Manifest.Secret.
const (
	LogEmbedded      = "embedded"
	LogKafka         = "kafka"
	SecretFile       = "file"
	SecretConfigured = "configured"
)

// Manifest is the first line of a manifest.
type Manifest struct {
	Version   int            `json:"quarryBackup"`
	CreatedAt time.Time      `json:"createdAt"`
	Release   string         `json:"release"`
	Log       string         `json:"log"`
	Secret    string         `json:"secret"`
	Formats   map[string]int `json:"formats"`
	// Positions holds for each partition the first position that is not in the backup.
	Positions []event.Position `json:"positions"`
	// Missing is the number of objects that live records name but the segment store
	// lacked.
	Missing      int      `json:"missing"`
	MissingNames []string `json:"missingNames,omitempty"`
}

// Sum is a SHA-256 hash.
type Sum [sha256.Size]byte

// String returns 64 hexadecimal characters.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// MarshalText implements encoding.TextMarshaler.
func (s Sum) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Sum) UnmarshalText(b []byte) error {
	if len(b) != 2*len(s) {
		return fmt.Errorf("%d characters of a SHA-256, want %d", len(b), 2*len(s))
	}
	_, err := hex.Decode(s[:], b)
	return err
}

// File is a file of a generation.
type File struct {
	Path     string    `json:"path"`
	Size     int64     `json:"size"`
	SHA256   Sum       `json:"sha256"`
	Modified time.Time `json:"modified"`
}

// Totals is the last line of a manifest.
type Totals struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// SHA256 is the hash of all bytes of the manifest before the last line.
	SHA256 Sum `json:"sha256"`
}

// These are parts of the paths in a manifest.
const (
	logFolder     = "log/"
	segmentFolder = "segments/"
	secretPath    = SecretName
)

// SecretName is the name of the secret's file in a data directory.
const SecretName = "secret.key"

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// checkPath rejects a path that a restore must not write.
func checkPath(path string) error {
	if path == secretPath {
		return nil
	}
	for _, folder := range []string{logFolder, segmentFolder} {
		if name, ok := strings.CutPrefix(path, folder); ok && namePattern.MatchString(name) {
			return nil
		}
	}
	return fmt.Errorf("path %.200q", path)
}

// manifestWriter writes a manifest. It keeps its first error.
type manifestWriter struct {
	out    *bufio.Writer
	hash   hash.Hash
	totals Totals
	err    error
}

func newManifestWriter(w io.Writer, head *Manifest) *manifestWriter {
	m := &manifestWriter{hash: sha256.New()}
	m.out = bufio.NewWriterSize(io.MultiWriter(w, m.hash), 64<<10)
	m.writeLine(head)
	return m
}

func (m *manifestWriter) writeLine(v any) {
	if m.err != nil {
		return
	}
	b, err := json.Marshal(v)
	if err == nil && len(b) >= maxLineBytes {
		err = fmt.Errorf("a line of the manifest has %d bytes, at most %d", len(b), maxLineBytes)
	}
	if err == nil {
		_, err = m.out.Write(append(b, '\n'))
	}
	m.err = err
}

// addFile writes the line of a file. Files must be added in the order of their paths.
func (m *manifestWriter) addFile(f File) {
	m.writeLine(&f)
	m.totals.Files++
	m.totals.Bytes += f.Size
}

// close writes the last line.
func (m *manifestWriter) close() (Totals, error) {
	if m.err == nil {
		m.err = m.out.Flush()
	}
	m.hash.Sum(m.totals.SHA256[:0])
	m.writeLine(&m.totals)
	if m.err == nil {
		m.err = m.out.Flush()
	}
	return m.totals, m.err
}

// readManifest reads a manifest and calls visit for each file. The files are valid only
// if readManifest returns without an error: a truncated manifest looks complete until its
// end.
func readManifest(path string, visit func(File) error) (Manifest, Totals, error) {
	var head Manifest
	f, err := os.Open(path)
	if err != nil {
		return head, Totals{}, err
	}
	defer f.Close()
	r := &manifestReader{in: bufio.NewReaderSize(f, 64<<10), hash: sha256.New()}
	totals, err := r.readFiles(&head, visit)
	if err != nil {
		return head, totals, fmt.Errorf("%s: %w", path, err)
	}
	return head, totals, nil
}

// manifestRow is a File or, if it has the member files, the Totals.
type manifestRow struct {
	Path     string    `json:"path"`
	Size     int64     `json:"size"`
	SHA256   Sum       `json:"sha256"`
	Modified time.Time `json:"modified"`
	Files    *int      `json:"files"`
	Bytes    int64     `json:"bytes"`
}

type manifestReader struct {
	in   *bufio.Reader
	hash hash.Hash
	last string // path of the last file
	seen Totals
}

func (r *manifestReader) readFiles(head *Manifest, visit func(File) error) (Totals, error) {
	line, err := r.readLine()
	if err != nil {
		return Totals{}, err
	}
	if err := json.Unmarshal(line, head); err != nil || head.Version < 1 {
		return Totals{}, fmt.Errorf("%w: the first line is none of a backup", ErrManifest)
	}
	if head.Version != FormatVersion {
		return Totals{}, fmt.Errorf("the backup has format version %d, and this release of Quarry reads %d: use release %.40q, which wrote it, or a later one", head.Version, FormatVersion, head.Release)
	}
	for {
		r.hash.Write(line)
		if line, err = r.readLine(); err != nil {
			return Totals{}, err
		}
		var row manifestRow
		if err := json.Unmarshal(line, &row); err != nil {
			return Totals{}, fmt.Errorf("%w: a line after %q cannot be read: %w", ErrManifest, r.last, err)
		}
		if row.Files != nil {
			return r.checkTotals(Totals{Files: *row.Files, Bytes: row.Bytes, SHA256: row.SHA256})
		}
		f := File{Path: row.Path, Size: row.Size, SHA256: row.SHA256, Modified: row.Modified}
		if err := r.checkFile(&f); err != nil {
			return Totals{}, err
		}
		if err := visit(f); err != nil {
			return Totals{}, err
		}
	}
}

func (r *manifestReader) checkFile(f *File) error {
	if err := checkPath(f.Path); err != nil {
		return fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if f.Path <= r.last || f.Size < 0 {
		return fmt.Errorf("%w: %q is out of order or has no size", ErrManifest, f.Path)
	}
	r.last = f.Path
	r.seen.Files++
	r.seen.Bytes += f.Size
	if r.seen.Files > MaxFiles {
		return fmt.Errorf("%w: more than %d files", ErrManifest, MaxFiles)
	}
	return nil
}

// checkTotals compares the last line with the preceding lines.
func (r *manifestReader) checkTotals(said Totals) (Totals, error) {
	r.hash.Sum(r.seen.SHA256[:0])
	if said != r.seen {
		return said, fmt.Errorf("%w: its last line does not fit what comes before it", ErrManifest)
	}
	if _, err := r.in.ReadByte(); err != io.EOF {
		return said, fmt.Errorf("%w: there is more after its last line", ErrManifest)
	}
	return said, nil
}

// readLine returns the next line, including its line feed. It is valid until the next
// call.
func (r *manifestReader) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("%w: it ends without its last line", ErrManifest)
			}
			return nil, err
		}
		if line = append(line, part...); len(line) > maxLineBytes {
			return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrManifest, maxLineBytes)
		}
		if bytes.HasSuffix(line, []byte("\n")) {
			return line, nil
		}
	}
}
