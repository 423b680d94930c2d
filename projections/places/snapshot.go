package places

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
)

// The kinds of rows of a partition, in the order of their keys. The keys of repositoryKinds
// go on with a repository, those of all others with the partition.
const (
	localKinds      = "erx"
	placesKinds     = "RSbdeghiklmnoqrtuw"
	repositoryKinds = "Rbekmnrt"
)

// PartitionRanges returns a function that returns the ranges of keys, ascending, of the rows
// of r that belong to a partition: all rows of this package belong to one.
func PartitionRanges(r store.Reader, partitionOf func(code.RepositoryID) int32) (func(partition int32) []store.Range, error) {
	repositories := map[int32][]code.RepositoryID{}
	for _, kind := range []byte{kindRepository, kindRemoved} {
		err := forEachRow(r, newKey(kind, 0), func(k, _ []byte) error {
			if len(k) != repositoryPrefixLen {
				return ErrCorrupt
			}
			id := code.RepositoryID(binary.BigEndian.Uint64(k[2:]))
			repositories[partitionOf(id)] = append(repositories[partitionOf(id)], id)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, ids := range repositories {
		slices.Sort(ids)
	}
	return func(partition int32) (ranges []store.Range) {
		add := func(prefix []byte) { ranges = append(ranges, store.Range{Lo: prefix, Hi: store.Successor(prefix)}) }
		for _, kind := range []byte(localKinds) {
			add(store.AppendUint32([]byte{byte(store.FamilyLocal), kind}, uint32(partition)))
		}
		for _, kind := range []byte(placesKinds) {
			if !strings.ContainsRune(repositoryKinds, rune(kind)) {
				add(partitionPrefix(kind, partition))
				continue
			}
			for _, id := range repositories[partition] {
				add(repositoryPrefix(kind, id))
			}
		}
		return ranges
	}, nil
}

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
