package scip

import (
	"errors"
	"fmt"
)

// Errors of the package.
var (
	// ErrInvalid means that the bytes are not a SCIP index, or that the index contradicts
	// itself or the files that it describes.
	ErrInvalid = errors.New("invalid SCIP index")
	// ErrTooLarge means that an index exceeds a limit.
	ErrTooLarge = errors.New("SCIP index is too large")
	// ErrCorrupt means that an object differs from the one that a Builder wrote.
	ErrCorrupt = errors.New("corrupt precise index")
)

// Limits bound an index. The zero value of a field means its default.
type Limits struct {
	// MaxBytes bounds the encoded index: the setting scip.maxUploadBytes. Default: 1 GiB.
	MaxBytes int64
	// MaxDocuments bounds the number of documents. Default: 200,000.
	MaxDocuments int
	// MaxDocumentBytes bounds an encoded document. Default: 64 MiB.
	MaxDocumentBytes int
	// MaxOccurrences bounds the occurrences of a document. Default: 600,000.
	MaxOccurrences int
	// MaxDocumentMemory bounds the memory that a decoded document takes. Default: 40 MiB.
	MaxDocumentMemory int
	// MaxSymbols bounds the distinct symbols that are not local to a document. Default:
	// 4,000,000.
	MaxSymbols int
	// MaxSymbolBytes bounds the total size of their names. Default: 512 MiB.
	MaxSymbolBytes int64
	// Directory is where a Builder keeps files without a name while it works. Default: that
	// of the system for temporary files.
	Directory string
}

// Bounds that cannot be configured.
const (
	// MaxNameBytes bounds the name of a symbol.
	MaxNameBytes = 8 << 10
	// MaxTextBytes bounds the signature and the documentation of a symbol. Longer texts are
	// truncated.
	MaxTextBytes = 16 << 10
	// maxRelationships bounds the relationships of a symbol, maxSymbolsOf the symbols that a
	// document describes.
	maxRelationships = 10_000
	maxSymbolsOf     = 1_000_000
	// maxFieldBytes bounds what is decoded at a time: the metadata, an occurrence, or a
	// symbol.
	maxFieldBytes = 4 << 20
	// maxPathsBytes bounds the paths of an index, and maxFirstBytes the names in the table of
	// symbol blocks: a Reader keeps both in memory.
	maxPathsBytes = 64 << 20
	maxFirstBytes = 32 << 20
	// maxSymbolBlock bounds a block of the symbol table.
	maxSymbolBlock = 12 << 20
)

func (l Limits) withDefaults() Limits {
	setDefault(&l.MaxBytes, 1<<30)
	setDefault(&l.MaxDocuments, 200_000)
	setDefault(&l.MaxDocumentBytes, 64<<20)
	setDefault(&l.MaxOccurrences, 600_000)
	setDefault(&l.MaxDocumentMemory, 40<<20)
	setDefault(&l.MaxSymbols, 4_000_000)
	setDefault(&l.MaxSymbolBytes, 512<<20)
	return l
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

func invalidf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}

func tooLargef(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrTooLarge, fmt.Sprintf(format, args...))
}
