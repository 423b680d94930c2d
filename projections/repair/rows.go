package repair

import (
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/integrity"
	"github.com/quarrysearch/quarry/projections/store"
)

// RemedyStart is the remedy for damaged rows.
const RemedyStart = "start the server again: it rebuilds them from the log"

// ErrStartAgain means that damaged rows were found, and that the next start rebuilds
// them.
var ErrStartAgain = errors.New("damaged rows")

// IsDamage reports whether an error comes from damaged files of a store.
func IsDamage(err error) bool { return errors.Is(err, integrity.ErrDamaged) }

// MarkDamaged marks a store for a rebuild at the next start if err reports damaged rows.
// It then returns ErrStartAgain, otherwise err.
func MarkDamaged(s *store.Store, err error) error {
	var damage *store.DamageError
	if !errors.As(err, &damage) || damage.InSegment() {
		return err
	}
	if markErr := projections.MarkDamaged(s.Dir(), damage); markErr != nil {
		return errors.Join(err, markErr)
	}
	return fmt.Errorf("%w: %w", ErrStartAgain, err)
}
