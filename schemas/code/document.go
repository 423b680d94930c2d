package code

import "fmt"

// Language is a programming language as github-linguist spells it ("Go", "C++"). Empty
// means unknown.
type Language string

// DocumentKey identifies the content of a document: a blob, interpreted as a language.
type DocumentKey struct {
	Blob     BlobID
	Language Language
}

// Flags are traits of a document or its place.
type Flags uint8

// The traits that ranking and filters use.
const (
	FlagGenerated  Flags = 1 << iota // written by a program
	FlagVendored                     // third-party code kept in the repository
	FlagTest                         // test code
	FlagASCII                        // every byte is below 0x80
	FlagTranscoded                   // the text was not UTF-8 in the blob
	// Some symbols are missing: the time limit was exceeded, the text exceeds a limit on
	// nesting or number of symbols, or, with both flags, the grammar failed.
	FlagSymbolsTimeout
	FlagSymbolsLimit
	// FlagDocumentation, of a place, means that .gitattributes say that the file is
	// documentation.
	FlagDocumentation
)

// FlagNoDocumentation are the flags of a place of which .gitattributes say that it is not
// documentation. A place has no FlagTranscoded for itself.
const FlagNoDocumentation = FlagDocumentation | FlagTranscoded

// flagSymbolsFailed indicates that the grammar failed on the text.
const flagSymbolsFailed = FlagSymbolsTimeout | FlagSymbolsLimit

// PartialReason is the reason why some or all symbols of a searchable file are missing,
// as spelled in the API and the metric label. It is empty if none are missing.
type PartialReason string

// The reasons for which symbols are partial.
const (
	PartialTimeout PartialReason = "symbols_timeout" // the time limit was exceeded
	PartialLimit   PartialReason = "symbols_limit"   // nested too deep, or too many
	PartialFailed  PartialReason = "symbols_failed"  // the grammar failed
)

// PartialReasons lists all reasons.
var PartialReasons = []PartialReason{PartialTimeout, PartialLimit, PartialFailed}

// Flags returns the flags of a document whose symbols are partial for reason r.
func (r PartialReason) Flags() Flags {
	switch r {
	case PartialTimeout:
		return FlagSymbolsTimeout
	case PartialLimit:
		return FlagSymbolsLimit
	case PartialFailed:
		return flagSymbolsFailed
	}
	return 0
}

// PartialSymbols returns the reason that the flags encode.
func (f Flags) PartialSymbols() PartialReason {
	switch f & flagSymbolsFailed {
	case FlagSymbolsTimeout:
		return PartialTimeout
	case FlagSymbolsLimit:
		return PartialLimit
	case flagSymbolsFailed:
		return PartialFailed
	}
	return ""
}

// Advice explains the reason and what can be done about it.
func (r PartialReason) Advice() string {
	switch r {
	case PartialTimeout:
		return "The text is searchable. Its symbols took too long to find, so that only those at the beginning are there: split the file."
	case PartialLimit:
		return fmt.Sprintf("The text is searchable. It nests deeper, or defines more than %d names, than is read for symbols, so that some are missing: split the file.", MaxSymbolsPerDocument)
	case PartialFailed:
		return "The text is searchable. The reader of its language failed, so that it has no symbols: please report the file as a bug."
	}
	return ""
}

// SkipReason is the reason why a file is not searchable, as spelled in the API and the
// metric label.
type SkipReason string

// The reasons for which a file is not indexed.
const (
	SkipBinary      SkipReason = "binary"       // a NUL byte or a binary format
	SkipTooLarge    SkipReason = "too_large"    // above the size limit
	SkipUndecodable SkipReason = "undecodable"  // no known encoding yields text
	SkipSymlink     SkipReason = "symlink"      // a link has no text
	SkipSubmodule   SkipReason = "submodule"    // lives in another repository
	SkipLFSPointer  SkipReason = "lfs_pointer"  // the file is in a Git LFS store
	SkipUnreadable  SkipReason = "unreadable"   // git cannot read the blob
	SkipInvalidPath SkipReason = "invalid_path" // ValidatePath rejects the path; see NamePath
)

// SkipReasons lists all reasons.
var SkipReasons = []SkipReason{SkipBinary, SkipTooLarge, SkipUndecodable, SkipSymlink, SkipSubmodule, SkipLFSPointer, SkipUnreadable}

// Advice explains the reason and what can be done about it.
func (r SkipReason) Advice() string {
	switch r {
	case SkipBinary:
		return "Binary content is not searchable."
	case SkipTooLarge:
		return "The file is above the size limit: raise pipeline.maxFileBytes to index it."
	case SkipUndecodable:
		return "No known text encoding fits: convert the file to UTF-8."
	case SkipSymlink:
		return "A symbolic link has no text; its target is indexed if it is in the repository."
	case SkipSubmodule:
		return "A submodule is another repository: register that one."
	case SkipLFSPointer:
		return "The file is kept by Git LFS, and the repository has a pointer to it: only files in git itself are indexed."
	case SkipUnreadable:
		return "git cannot read the file: check the repository with git fsck."
	case SkipInvalidPath:
		return fmt.Sprintf("The path is longer than %d bytes, or has an element that no file system allows, such as ..: rename the file. Its name here is made from its path.", MaxPathBytes)
	}
	return "Not indexed."
}

// SymbolKind is the kind of a symbol, as universal-ctags and the API name it: "function",
// "method", "class", "struct", "member", …
type SymbolKind string

// Symbol is a definition in a document.
type Symbol struct {
	// Name is the identifier as written, at most MaxSymbolBytes, without line breaks.
	Name string
	Kind SymbolKind
	// Parent is the name of the enclosing scope, and ParentKind its kind; both are empty
	// at the top level.
	Parent     string
	ParentKind SymbolKind
	// Offset is the byte offset of Name in the document's text.
	Offset uint32
	// Line is the line of the name, from 1. EndLine is the last line of the
	// definition's body; 0 if unknown.
	Line    uint32
	EndLine uint32
}

// Definition is a symbol with details that are not stored in the index; they are
// extracted from the text again when the symbol is shown.
type Definition struct {
	Symbol
	// Column is the column of the name, in characters, from 1.
	Column uint32
	// BodyStart and BodyEnd are the byte offsets of the part that follows the signature,
	// such as a block. Both are 0 if there is none.
	BodyStart, BodyEnd uint32
	// Signature is the text of the declaration without its body, on one line, at most
	// MaxSignatureBytes.
	Signature string
	// Visibility is "public", "protected", "internal" or "private" if the declaration or
	// the rules of the language determine it; empty otherwise.
	Visibility string
	// Declaration reports whether the symbol is declared without a body, such as a
	// prototype or a method of an interface.
	Declaration bool
	// Doc is the first line of its documentation comment, without comment markers, at
	// most MaxDocBytes.
	Doc string
}

// Token is a lexical element of a text.
type Token struct {
	Class TokenClass
	// Start and End are byte offsets.
	Start, End uint32
}

// TokenClass is the class of a token, for syntax highlighting.
type TokenClass uint8

// The classes of tokens. Their numbers are part of the API.
const (
	TokenComment TokenClass = iota
	TokenString
	TokenNumber
	TokenKeyword
	TokenIdentifier
	TokenDefinition // an identifier where it is defined
	TokenOperator
)

// TokenClasses holds the names of the classes, indexed by number.
var TokenClasses = [...]string{"comment", "string", "number", "keyword", "identifier", "definition", "operator"}

// String returns the name of the class.
func (c TokenClass) String() string { return TokenClasses[c] }

// Bounds of a Definition, in bytes.
const (
	MaxSignatureBytes = 512
	MaxDocBytes       = 256
)

// Bounds on symbols, enforced by the extractor.
const (
	MaxSymbolBytes        = 256
	MaxSymbolsPerDocument = 1 << 16
)
