package catalog

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/projections/internal/accept"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	kindRepository = 'r'
	kindRef        = 'f'
	kindMark       = 'm'
)

// repositoryRow is the value of c r.
type repositoryRow struct {
	Repository code.Repository `json:"repository"`
	// Since is the position of its registration.
	Since        event.Position `json:"since"`
	RegisteredAt time.Time      `json:"registeredAt"`
	ChangedAt    time.Time      `json:"changedAt"`
	IndexedAt    time.Time      `json:"indexedAt,omitzero"`
	PushedAt     time.Time      `json:"pushedAt,omitzero"`
	Refs         int            `json:"refs"`
	// PrivateMark is 1 + the offset of the last event that said that the repository is
	// private, or 0.
	PrivateMark event.Offset `json:"privateMark,omitempty"`
	// ScipUploads are ordered newest first.
	ScipUploads []ScipUpload     `json:"scipUploads,omitempty"`
	Submodules  []code.Submodule `json:"submodules,omitempty"`
	Pins        []code.CommitID  `json:"pins,omitempty"`
}

// refRow is the value of c f.
type refRow struct {
	accept.Ref
	CommitTime time.Time `json:"commitTime,omitzero"`
	IndexedAt  time.Time `json:"indexedAt,omitzero"`
	ReceivedAt time.Time `json:"receivedAt,omitzero"`
}

func repositoryKey(id code.RepositoryID) []byte {
	return store.AppendUint64([]byte{byte(store.FamilyCatalog), kindRepository}, uint64(id))
}

func markKey(id code.RepositoryID) []byte {
	return store.AppendUint64([]byte{byte(store.FamilyCatalog), kindMark}, uint64(id))
}

// readMark returns the private mark of a removed repository, or 0.
func readMark(r store.Reader, id code.RepositoryID) (event.Offset, error) {
	value, found, err := r.Read(markKey(id))
	if err != nil || !found {
		return 0, err
	}
	return decodeMark(value)
}

func decodeMark(value []byte) (event.Offset, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("catalog: a private mark of %d bytes", len(value))
	}
	return event.Offset(binary.BigEndian.Uint64(value)), nil
}

func refPrefix(id code.RepositoryID) []byte {
	return store.AppendUint64([]byte{byte(store.FamilyCatalog), kindRef}, uint64(id))
}

func refKey(id code.RepositoryID, ref code.Ref) []byte { return append(refPrefix(id), ref...) }

// readRow reads the row at key into row and reports whether there is one.
func readRow(r store.Reader, key []byte, row any) (bool, error) {
	value, ok, err := r.Read(key)
	if err != nil || !ok {
		return false, err
	}
	if err := json.Unmarshal(value, row); err != nil {
		return false, fmt.Errorf("catalog: row %q: %w", key, err)
	}
	return true, nil
}

func writeRow(b *store.Batch, key []byte, row any) error {
	value, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("catalog: row %q: %w", key, err)
	}
	return b.Set(key, value)
}

// eachRef calls f for every ref row of a repository, in the order of names.
func eachRef(r store.Reader, id code.RepositoryID, f func(ref code.Ref, row *refRow) error) error {
	prefix := refPrefix(id)
	it, err := r.Iter(prefix, store.Successor(prefix))
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		row := new(refRow)
		if err = json.Unmarshal(it.Value(), row); err == nil {
			err = f(code.Ref(it.Key()[len(prefix):]), row)
		}
		if err != nil {
			_ = it.Close()
			return fmt.Errorf("catalog: refs of %s: %w", id, err)
		}
	}
	return it.Close()
}
