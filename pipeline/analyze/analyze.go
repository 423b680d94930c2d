package analyze

import (
	"errors"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/pipeline/analyze/ctags"
	"github.com/quarrysearch/quarry/pipeline/analyze/internal/outline"
	"github.com/quarrysearch/quarry/schemas/code"
)

// HeadBytes is the number of bytes at the beginning of a blob that determine its
// language.
const HeadBytes = 16 << 10

// PlaceFlags are the flags that depend on the path of a document and the head of its
// content. The other flags depend on the whole content.
const PlaceFlags = code.FlagGenerated | code.FlagVendored | code.FlagTest

// Options configures an Analyzer. The zero value is ready to use.
type Options struct {
	// MaxBlobBytes is the size above which a file is skipped. Default 2 MiB, because
	// larger files are data in nearly all repositories. At most 1 GiB.
	MaxBlobBytes int64
	// OutlineTimeout bounds the time spent on the symbols of one file. Default 1 s, which
	// a file of the default maximum size reaches only on a stalled machine. Negative
	// means no limit.
	OutlineTimeout time.Duration
	// NoSymbols leaves Result.Symbols empty.
	NoSymbols bool
	// Ctags finds the symbols of languages that have neither a grammar nor a table. If
	// nil, files in these languages have no symbols. It has its own time limit.
	Ctags *ctags.Pool
}

// Defaults of Options.
const (
	DefaultMaxBlobBytes   = 2 << 20
	DefaultOutlineTimeout = time.Second

	maxBlobBytesLimit = 1 << 30 // offsets in the decoded text fit in 32 bits
)

func (o Options) withDefaults() Options {
	if o.MaxBlobBytes <= 0 {
		o.MaxBlobBytes = DefaultMaxBlobBytes
	}
	o.MaxBlobBytes = min(o.MaxBlobBytes, maxBlobBytesLimit)
	if o.OutlineTimeout == 0 {
		o.OutlineTimeout = DefaultOutlineTimeout
	}
	return o
}

// Analyzer analyzes blobs. It is safe for concurrent use.
type Analyzer struct {
	options   Options
	languages *languageTable
	vendored  pathMatchers
	tests     pathMatchers
}

// New returns an Analyzer. It builds tables from go-enry's data, which takes a few
// milliseconds, so a process should create only one.
func New(o Options) *Analyzer {
	return &Analyzer{
		options:   o.withDefaults(),
		languages: newLanguageTable(),
		vendored:  vendoredMatchers(),
		tests:     testMatchers(),
	}
}

// Result is the result of analyzing a blob.
type Result struct {
	// Skipped is the reason why the blob is not searchable. If it is set, no other field
	// is.
	Skipped code.SkipReason
	// Text is Decoded.Text.
	Text []byte
	// Language is empty if unknown.
	Language code.Language
	Flags    code.Flags
	// Symbols are ordered by Offset, which is an offset in Text; empty if the language is
	// unknown or not supported.
	Symbols []code.Symbol
	// SymbolsFailed is the error of the search for symbols: some or all are missing, and
	// Flags contains the code.PartialReason. The file stays searchable.
	SymbolsFailed error
}

// Document analyzes the blob content at path.
func (a *Analyzer) Document(path string, content []byte) Result {
	d, skipped := a.Decode(content)
	if skipped != "" {
		return Result{Skipped: skipped}
	}
	language, placed := a.Place(path, content)
	r := a.AnalyzeText(d, language)
	r.Flags |= placed
	return r
}

// Decoded is the text of a blob, whatever its path.
type Decoded struct {
	// Text is UTF-8, or the blob's own bytes if nearly all of them are. It may be a
	// subslice of the content.
	Text  []byte
	flags code.Flags
}

// Decode returns the text of the content of a blob, or the reason why it is not
// searchable.
func (a *Analyzer) Decode(content []byte) (Decoded, code.SkipReason) {
	if int64(len(content)) > a.options.MaxBlobBytes {
		return Decoded{}, code.SkipTooLarge
	}
	text, flags, skipped := decode(content)
	return Decoded{text, flags}, skipped
}

// AnalyzeText finds the symbols of a text in a language, which may be empty. The result has no
// PlaceFlags.
func (a *Analyzer) AnalyzeText(d Decoded, language code.Language) Result {
	r := Result{Text: d.Text, Language: language, Flags: d.flags}
	a.extractSymbols(&r)
	return r
}

// extractSymbols sets the symbols of r.
func (a *Analyzer) extractSymbols(r *Result) {
	if a.options.NoSymbols {
		return
	}
	symbols, err := a.findSymbols(r.Language, r.Text)
	r.Symbols, r.SymbolsFailed = symbols, err
	switch {
	case errors.Is(err, outline.ErrTimeout), errors.Is(err, ctags.ErrTimeout):
		r.Flags |= code.PartialTimeout.Flags()
	case errors.Is(err, outline.ErrLimit), errors.Is(err, ctags.ErrLimit):
		r.Flags |= code.PartialLimit.Flags()
	case err != nil:
		r.Flags |= code.PartialFailed.Flags()
	}
}

// findSymbols returns the symbols of a text; none if its language is not supported.
func (a *Analyzer) findSymbols(language code.Language, text []byte) ([]code.Symbol, error) {
	if !outline.Supported(language) {
		if a.options.Ctags == nil {
			return nil, nil
		}
		return a.options.Ctags.FindSymbols(language, text)
	}
	var deadline time.Time
	if a.options.OutlineTimeout > 0 {
		deadline = time.Now().Add(a.options.OutlineTimeout)
	}
	return outline.Extract(language, text, deadline)
}

// Place returns the language and the PlaceFlags of a blob at path. head is the beginning
// of its content: at least HeadBytes, or all of a shorter content. Bytes after HeadBytes
// are ignored.
func (a *Analyzer) Place(path string, head []byte) (code.Language, code.Flags) {
	r := a.Read(path, head)
	return r.Language, a.Flags(path, r)
}

// Reading contains the properties of a blob's places that its content determines: they
// are equal for all paths with the same NameClass.
type Reading struct {
	Language code.Language
	// Generated reports that the content looks like the output of a tool.
	Generated bool
}

// NameClass returns the part of a path that, together with the content, determines a
// Reading: the name of the file, or the part of the name from its first dot.
func (a *Analyzer) NameClass(path string) string {
	name := splitPath(path)
	dot := strings.IndexByte(name.base, '.')
	if dot < 0 || a.languages.knowsName(name.base) {
		return name.base
	}
	return name.base[dot:]
}

// Read returns the Reading of a blob at path. head has the same meaning as for Place.
func (a *Analyzer) Read(path string, head []byte) Reading {
	if len(head) > HeadBytes {
		head = head[:HeadBytes]
	}
	head = decodeHead(head)
	name := splitPath(path)
	return Reading{a.languages.detectLanguage(name, head), generatedContent(name, head)}
}

// Flags returns the PlaceFlags of a blob at path.
func (a *Analyzer) Flags(path string, r Reading) code.Flags {
	var flags code.Flags
	if r.Generated || generatedName(splitPath(path)) {
		flags |= code.FlagGenerated
	}
	if a.vendored.matchesAny(path) {
		flags |= code.FlagVendored
	}
	if inTestDirectory(path) || a.tests.matchesAny(path) {
		flags |= code.FlagTest
	}
	return flags
}
