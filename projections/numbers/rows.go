package numbers

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
)

// The kinds of rows; see the table in the package documentation.
const (
	kindRepository = 'r'
	kindConnection = 'c'
)

func repositoryKey(id code.RepositoryID) []byte {
	return store.AppendUint64([]byte{byte(store.FamilyNumbers), kindRepository}, uint64(id))
}

func connectionKey(name string) []byte {
	return append([]byte{byte(store.FamilyNumbers), kindConnection}, name...)
}

func rowOf(number int) []byte { return store.AppendUint32(nil, uint32(number)) }

// loadRows reads all rows of the family.
func (n *Numbers) loadRows(s *store.Store) error {
	prefix := []byte{byte(store.FamilyNumbers)}
	it, err := s.Iter(prefix, store.Successor(prefix))
	if err != nil {
		return err
	}
	repositories, connections := map[uint32]code.RepositoryID{}, map[uint32]string{}
	for ok := it.First(); ok; ok = it.Next() {
		key, value := it.Key(), it.Value()
		switch {
		case len(value) != 4:
			err = fmt.Errorf("numbers: row %q has %d bytes, want 4", key, len(value))
		case len(key) == 10 && key[1] == kindRepository:
			repositories[binary.BigEndian.Uint32(value)] = code.RepositoryID(binary.BigEndian.Uint64(key[2:]))
		case len(key) > 2 && key[1] == kindConnection:
			connections[binary.BigEndian.Uint32(value)] = string(key[2:])
		default:
			err = fmt.Errorf("numbers: row %q has an unknown kind", key)
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
	}
	return errors.Join(it.Close(), fillTable(&n.mu.repositories, repositories), fillTable(&n.mu.connections, connections))
}

// fillTable adds the IDs of rows, in the order of their numbers.
func fillTable[ID comparable, N ~int32](t *table[ID, N], rows map[uint32]ID) error {
	for number := uint32(1); len(t.ids) < len(rows); number++ {
		id, found := rows[number]
		if !found {
			return fmt.Errorf("numbers: %d rows, and none has the number %d; remove the store, it is made from the log", len(rows), number)
		}
		t.add(id)
	}
	return nil
}
