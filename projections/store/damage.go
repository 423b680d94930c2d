package store

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/quarrysearch/quarry/projections/integrity"
)

// DamageError describes a damaged file. It wraps integrity.ErrDamaged.
type DamageError struct {
	// Path is the file, or the directory of the store if the file is unknown.
	Path string
	// First is the first key of the file; nil if unknown.
	First []byte

	remedy string
	cause  error
}

func newDamageError(info *pebble.DataCorruptionInfo, remedy string) *DamageError {
	return &DamageError{Path: info.Path, First: info.Bounds.Start, remedy: remedy, cause: info.Details}
}

// Error implements error.
func (e *DamageError) Error() string {
	// Drop the lines of details that Pebble adds.
	cause, _, _ := strings.Cut(fmt.Sprint(e.cause), "\n")
	return fmt.Sprintf("%s is damaged: %s; %s", e.Path, cause, e.remedy)
}

// Unwrap implements the interface of errors.Is.
func (e *DamageError) Unwrap() []error { return []error{integrity.ErrDamaged, e.cause} }

// InSegment reports whether the file contains a segment rather than rows.
func (e *DamageError) InSegment() bool {
	return len(e.First) > 0 && e.First[0] == byte(FamilySegments)
}

// explainDamage converts Pebble's errors about damaged files to a DamageError.
func (s *Store) explainDamage(err error) error {
	if err == nil || !pebble.IsCorruptionError(err) {
		return err
	}
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return newDamageError(info, s.remedy)
	}
	return &DamageError{Path: s.dir, remedy: s.remedy, cause: err}
}
