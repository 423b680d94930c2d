package places

import (
	"encoding/json"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
)

// SnapshotRow returns the value with which a row is written to a snapshot. An erasure that
// was carried out is pending again: another directory must prove it for itself.
func SnapshotRow(key, value []byte) ([]byte, error) {
	if len(key) < 2 || key[0] != byte(store.FamilyLocal) || key[1] != kindErasure {
		return value, nil
	}
	e, err := parseErasure(key, value)
	if err != nil || e.EndedAt.IsZero() {
		return value, err
	}
	e.EndedAt, e.Error, e.Proof = time.Time{}, "", nil
	return json.Marshal(&e)
}

// StoredSegments returns the segments that the rows of r name and that were not missing
// from the segment store.
func StoredSegments(r store.Reader) (map[segment.ID]bool, error) {
	named := map[segment.ID]bool{}
	return named, forEachRow(r, newKey(kindSegment, 0), func(_, v []byte) error {
		var row segmentRow
		if err := json.Unmarshal(v, &row); err != nil || row.Absent {
			return err
		}
		id, err := segment.ParseID(row.ID)
		named[id] = true
		return err
	})
}
