package embeddedlog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/quarrysearch/quarry/projections/integrity"
)

// ErrDamaged says that the log does not hold what was written to it.
var ErrDamaged = errors.New("the event log is damaged")

// explain makes an error about damaged files or records one that names the file, or
// the directory, and what helps.
func (l *Log) explain(err error) error {
	if err == nil || !pebble.IsCorruptionError(err) && !errors.Is(err, errCorrupt) && !errors.Is(err, integrity.ErrDamaged) {
		return err
	}
	path := l.dir
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		path = info.Path
	}
	// Pebble adds lines of details.
	cause, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("%w: %s: %s; stop the server and restore %s from a backup; without one, see \"Damage\" in the manual of operations", ErrDamaged, path, cause, l.dir)
}
