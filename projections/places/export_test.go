package places

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Sweep removes unreferenced segments on the caller's goroutine.
func (p *Places) Sweep(ctx context.Context) error { return p.sweepAll(ctx) }

// DropRevisions empties the cache of resolved refs.
func (p *Places) DropRevisions() {
	p.revisions = newRevisionCache(DefaultRevisionCacheBytes)
}

// DescribeRow formats a row of the places family for scripts; name returns the name of a
// document.
func DescribeRow(k, v []byte, name func(code.DocumentKey) string) string {
	number := func(at int) uint32 { return binary.BigEndian.Uint32(k[at:]) }
	described := func(v []byte) string {
		e, err := decodeEntry(v)
		switch {
		case err != nil:
			return err.Error()
		case e.kind == entryDocument:
			return name(e.document)
		case e.kind == entrySkipped:
			return "skipped " + string(e.skipped)
		}
		return "tombstone"
	}
	switch k[1] {
	case kindEntry:
		path, version := parseEntry(k)
		return fmt.Sprintf("entry m%d %s@%d = %s", number(repositoryPrefixLen), path, version, described(v))
	case kindKept:
		path, version := parseEntry(k)
		return fmt.Sprintf("kept m%d %s@%d until %d", number(repositoryPrefixLen), path, version, int32(binary.BigEndian.Uint32(v)))
	case kindManifest:
		return fmt.Sprintf("manifest m%d %s", number(repositoryPrefixLen), v)
	case kindPin:
		p := parsePin(k)
		return fmt.Sprintf("pin m%d@%d by m%d", p.parent, p.version, p.child)
	case kindRef:
		var row refRow
		if err := json.Unmarshal(v, &row); err != nil {
			return err.Error()
		}
		return fmt.Sprintf("ref %s m%d files=%d skipped=%v", k[repositoryPrefixLen:], row.Manifest, row.Files, row.Skipped)
	case kindDocument:
		row, err := decodeDocumentRow(v)
		return fmt.Sprintf("document %s count=%d holders=%v %v", name(parseDocument(k)), row.count, row.holders, err)
	case kindUnheld:
		return "unheld " + name(parseDocument(k))
	case kindSegment:
		var row segmentRow
		if err := json.Unmarshal(v, &row); err != nil {
			return err.Error()
		}
		return fmt.Sprintf("segment %d live=%d/%d absent=%v", number(partitionPrefixLen), row.Live, row.Documents, row.Absent)
	case kindPlace:
		return fmt.Sprintf("place s%d d%d %s", number(partitionPrefixLen), number(partitionPrefixLen+4), k[placePrefixLen+8:])
	case kindWaiting:
		size := int(k[partitionPrefixLen+blobLen])
		return fmt.Sprintf("waiting %s", k[partitionPrefixLen+blobLen+1+size+8:])
	}
	return ""
}
