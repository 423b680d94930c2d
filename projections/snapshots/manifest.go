package snapshots

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Format is the version of the format. It is the beginning of the name of each object. The
// tables of version 1 are not by partition, so only a process that holds everything uses it.
const Format = 2

// Bounds of a snapshot.
const (
	// MaxManifestBytes bounds the object with the manifest.
	MaxManifestBytes = 4 << 20
	// MaxTables bounds the tables: about 512 GiB of rows.
	MaxTables = 1 << 14
	// MaxTableBytes bounds one table. A table ends at 32 MiB, and may contain one row of
	// more.
	MaxTableBytes = 4 << 30
	// MaxSegments bounds the segments.
	MaxSegments = 1 << 20
	// maxListBytes bounds the object with the list of segments.
	maxListBytes = int64(MaxSegments*segmentLine + sealBytes)
	// maxPartitions bounds the positions.
	maxPartitions = 1 << 16
	// segmentLine is the length of a line of the list of segments.
	segmentLine = 2*len(segment.ID{}) + 1
	// sealBytes is the length of the line with the checksum of an object.
	sealBytes = 2*16 + 1
)

// Errors of a snapshot that cannot be used.
var (
	// ErrDamaged reports that an object of the snapshot is missing, cut or has other bytes.
	ErrDamaged = errors.New("the snapshot is damaged")
	// ErrUnsuitable reports that the snapshot is of another log, or that another version of
	// the program wrote it.
	ErrUnsuitable = errors.New("the snapshot does not fit")
)

// The kinds of objects of a snapshot: what follows its name.
const (
	manifestSuffix = ".manifest"
	segmentsSuffix = ".segments"
	tableInfix     = ".table-"
)

// Manifest describes a snapshot.
type Manifest struct {
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
	// Creator names the process: its machine and version.
	Creator string `json:"creator"`
	// StoreIdentity is the identity of the segment store; empty if it has none.
	StoreIdentity string `json:"storeIdentity,omitempty"`
	// StoreFormat is the version of the layout of keys, Schemas the versions of the rows of
	// each projection.
	StoreFormat int            `json:"storeFormat"`
	Schemas     map[string]int `json:"schemas"`
	// Positions has an element for each partition of the log, in order.
	Positions []Position `json:"positions"`
	// Share is that of the process that wrote the snapshot; empty if it holds everything.
	Share string `json:"share,omitempty"`
	// Partitions are those whose rows the snapshot has, ascending. In version 1, it is empty
	// and means all of them. Rows that belong to no partition are complete in each snapshot.
	Partitions []int32 `json:"partitions,omitempty"`
	Tables     []Table `json:"tables"`
	// Segments counts the segments of the list, whose checksum is SegmentsSum.
	Segments    int    `json:"segments"`
	SegmentsSum string `json:"segmentsSum"`
	// Seconds is how long it took to create the snapshot.
	Seconds float64 `json:"seconds"`
}

// Position is the position of a partition. Together, the records before the positions
// identify the log.
type Position struct {
	Partition int32 `json:"partition"`
	// Next is the offset of the next record to apply.
	Next event.Offset `json:"next"`
	// RecordSum is the checksum of the last record applied; empty if there is none.
	RecordSum string `json:"recordSum,omitempty"`
}

// IsWhole reports whether a process that holds everything wrote the snapshot. One of a share of
// all partitions is not whole: it lacks the objects to delete.
func (m *Manifest) IsWhole() bool { return m.Share == "" }

// Has reports whether the rows of a partition can be loaded without those of others.
func (m *Manifest) Has(partition int32) bool {
	_, found := slices.BinarySearch(m.Partitions, partition)
	return found
}

// tablesOf returns the tables of a partition, or, if it is nil, those that are of none.
func (m *Manifest) tablesOf(partition *int32) (tables []Table) {
	for _, t := range m.Tables {
		if partition == nil && t.Partition == nil || partition != nil && t.Partition != nil && *partition == *t.Partition {
			tables = append(tables, t)
		}
	}
	return tables
}

// Table describes an object with rows.
type Table struct {
	Object string `json:"object"`
	// Partition is that of the rows; nil if they are of none, and in version 1.
	Partition *int32 `json:"partition,omitempty"`
	SizeBytes int64  `json:"sizeBytes"`
	Rows      int64  `json:"rows"`
	// Sum is the xxh3-128 of the object, 32 hexadecimal characters.
	Sum string `json:"sum"`
}

// Bytes returns the size of the tables.
func (m *Manifest) Bytes() (n int64) {
	for _, t := range m.Tables {
		n += t.SizeBytes
	}
	return n
}

// Rows returns the number of rows.
func (m *Manifest) Rows() (n int64) {
	for _, t := range m.Tables {
		n += t.Rows
	}
	return n
}

// nameTime is the time in a name, with milliseconds; names have no dot before the z.
const nameTime = "20060102t150405.000z"

// newName returns the name of a snapshot that begins at a time.
func newName(at time.Time) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	stamp := strings.ReplaceAll(at.UTC().Format(nameTime), ".", "")
	return "v" + strconv.Itoa(Format) + "-" + stamp + "-" + hex.EncodeToString(random[:])
}

// ParseName returns the format version and the time in the name of a snapshot, and reports
// whether it is a name.
func ParseName(name string) (format int, at time.Time, ok bool) {
	version, rest, _ := strings.Cut(name, "-")
	stamp, random, _ := strings.Cut(rest, "-")
	format, err := strconv.Atoi(strings.TrimPrefix(version, "v"))
	const seconds = len("20060102t150405")
	at, timeErr := time.Parse(nameTime, stamp[:min(seconds, len(stamp))]+"."+stamp[min(seconds, len(stamp)):])
	_, hexErr := hex.DecodeString(random)
	return format, at, errors.Join(err, timeErr, hexErr) == nil && format > 0 && len(random) == 8 && version == "v"+strconv.Itoa(format)
}

// splitObject returns the snapshot to which an object belongs, and reports whether it
// belongs to one.
func splitObject(object string) (name, kind string, ok bool) {
	name, kind, ok = strings.Cut(object, ".")
	_, _, isName := ParseName(name)
	return name, "." + kind, ok && isName
}

func tableObject(name string, n int) string { return fmt.Sprintf("%s%s%05d", name, tableInfix, n) }

// sumOf returns the checksum of bytes as the format has it.
func sumOf(b []byte) string {
	sum := xxh3.Hash128(b).Bytes()
	return hex.EncodeToString(sum[:])
}

// sealBody puts a line with the checksum before a body.
func sealBody(body []byte) []byte { return append([]byte(sumOf(body)+"\n"), body...) }

// unsealBody returns the body of an object if its checksum is right.
func unsealBody(b []byte) ([]byte, error) {
	if len(b) < sealBytes || b[sealBytes-1] != '\n' || sumOf(b[sealBytes:]) != string(b[:sealBytes-1]) {
		return nil, fmt.Errorf("%w: the checksum of an object of %d bytes differs", ErrDamaged, len(b))
	}
	return b[sealBytes:], nil
}

func encodeManifest(m *Manifest) ([]byte, error) {
	body, err := json.MarshalIndent(m, "", " ")
	if err == nil {
		err = m.check(m.Name)
	}
	if err == nil && len(body) > MaxManifestBytes-sealBytes {
		err = fmt.Errorf("the manifest has %d bytes, at most %d", len(body), MaxManifestBytes)
	}
	return sealBody(body), err
}

// decodeManifest decodes the manifest of the snapshot with a name.
func decodeManifest(name string, b []byte) (*Manifest, error) {
	body, err := unsealBody(b)
	if err != nil {
		return nil, err
	}
	m := &Manifest{}
	if err := json.Unmarshal(body, m); err != nil {
		return nil, fmt.Errorf("%w: manifest: %w", ErrDamaged, err)
	}
	return m, m.check(name)
}

// check checks the bounds of a manifest, and that its objects are those of the snapshot with
// that name.
func (m *Manifest) check(name string) error {
	what := ""
	switch {
	case m.Name != name:
		what = fmt.Sprintf("the manifest is that of %.80q", m.Name)
	case len(m.Tables) == 0 || len(m.Tables) > MaxTables:
		what = fmt.Sprintf("%d tables, want 1 to %d", len(m.Tables), MaxTables)
	case len(m.Positions) == 0 || len(m.Positions) > maxPartitions:
		what = fmt.Sprintf("%d partitions, want 1 to %d", len(m.Positions), maxPartitions)
	case m.Segments < 0 || m.Segments > MaxSegments:
		what = fmt.Sprintf("%d segments, at most %d", m.Segments, MaxSegments)
	}
	for i, p := range m.Partitions {
		if p < 0 || int(p) >= len(m.Positions) || i > 0 && p <= m.Partitions[i-1] {
			what = fmt.Sprintf("it has the rows of partition %d of %d", p, len(m.Positions))
		}
	}
	for i, t := range m.Tables {
		if t.Partition != nil && !m.Has(*t.Partition) {
			what = fmt.Sprintf("table %d is of partition %d", i, *t.Partition)
		}
		if t.Object != tableObject(name, i) || t.SizeBytes <= 0 || t.SizeBytes > MaxTableBytes || t.Rows <= 0 {
			what = fmt.Sprintf("table %d is %.80q of %d bytes with %d rows", i, t.Object, t.SizeBytes, t.Rows)
		}
	}
	for i, p := range m.Positions {
		if p.Partition != int32(i) || p.Next < 0 {
			what = fmt.Sprintf("partition %d has number %d and position %d", i, p.Partition, p.Next)
		}
	}
	if what != "" {
		return fmt.Errorf("%w: %s", ErrDamaged, what)
	}
	return nil
}

// encodeSegments returns the list of segments.
func encodeSegments(ids map[segment.ID]bool) ([]byte, error) {
	if len(ids) > MaxSegments {
		return nil, fmt.Errorf("%d segments, at most %d", len(ids), MaxSegments)
	}
	lines := make([]string, 0, len(ids))
	for id := range ids {
		lines = append(lines, id.String()+"\n")
	}
	slices.Sort(lines)
	return sealBody([]byte(strings.Join(lines, ""))), nil
}

func decodeSegments(b []byte) (map[segment.ID]bool, error) {
	body, err := unsealBody(b)
	if err != nil {
		return nil, err
	}
	ids := make(map[segment.ID]bool, len(body)/segmentLine)
	for line := range strings.Lines(string(body)) {
		id, err := segment.ParseID(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("%w: list of segments: %w", ErrDamaged, err)
		}
		ids[id] = true
	}
	return ids, nil
}
