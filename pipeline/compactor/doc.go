// Package compactor folds small segments of a partition into large ones.
//
// (This package is written by a helper of its own, helper "compactor"; the
// pipeline helper leaves it alone.)
package compactor
