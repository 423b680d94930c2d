package projectiontest

import (
	"bytes"
	"fmt"

	"github.com/quarrysearch/quarry/projections/store"
)

// Row is a key and its value.
type Row struct{ Key, Value []byte }

// Dump returns all rows of a store except those of the local family.
func Dump(r store.Reader) ([]Row, error) {
	it, err := r.Iter(nil, nil)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for ok := it.First(); ok; ok = it.Next() {
		if it.Key()[0] != byte(store.FamilyLocal) {
			rows = append(rows, Row{bytes.Clone(it.Key()), bytes.Clone(it.Value())})
		}
	}
	return rows, it.Close()
}

// Difference describes the first row in which two dumps differ, or returns "" if they are
// equal.
func Difference(a, b []Row) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Sprintf("only the second has %q = %.200q", b[i].Key, b[i].Value)
		case i >= len(b):
			return fmt.Sprintf("only the first has %q = %.200q", a[i].Key, a[i].Value)
		case !bytes.Equal(a[i].Key, b[i].Key):
			return fmt.Sprintf("row %d of %d and %d: %q = %.200q, %q = %.200q", i, len(a), len(b), a[i].Key, a[i].Value, b[i].Key, b[i].Value)
		case !bytes.Equal(a[i].Value, b[i].Value):
			return fmt.Sprintf("%q = %.200q and %.200q", a[i].Key, a[i].Value, b[i].Value)
		}
	}
	return ""
}
