package searchtest

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/schemas/code"
)

// AddScript adds a segment of one document for each line of input.
func (m *Model) AddScript(t *testing.T, input string) {
	t.Helper()
	lines := strings.Split(input, "\n")
	b := segment.NewBuilder(segment.Options{Seed: []byte{byte(len(m.OnDefault))}})
	places := segment.NewPlacesBuilder(len(lines))
	for i, line := range lines {
		fields := strings.SplitN(line, " ", 4)
		text := []byte(strings.ReplaceAll(fields[3], `\n`, "\n"))
		key := code.DocumentKey{Blob: sha1.Sum(fmt.Append(text, i)), Language: code.Language(fields[2])}
		if err := b.Add(segment.Document{Key: key, Text: text, Symbols: ModelSymbols(text), Flags: code.FlagASCII}); err != nil {
			t.Fatal(err)
		}
		places.Add(segment.DocID(i), m.repository(fields[0]), segment.NoRef, 0, fields[1])
	}
	m.OnDefault = append(m.OnDefault, corpus.Segment{Reader: openSegment(t, b, nil).Reader, Places: places.Build()})
}

// repository returns the index of the repository with that name, and creates it if there
// is none.
func (m *Model) repository(name string) uint32 {
	for i, r := range m.Repos {
		if r.Name == name {
			return uint32(i)
		}
	}
	id := code.RepositoryID(len(m.Repos) + 1)
	m.Repos = append(m.Repos, &corpus.Repository{Repository: code.Repository{ID: id, Name: name, DefaultBranch: "main"}})
	return uint32(len(m.Repos) - 1)
}

// AddFiles builds the corpus of a script.
func (m *Model) AddFiles(t *testing.T, input string) {
	for line := range strings.SplitSeq(input, "\n") {
		fields := strings.SplitN(line, " ", 5)
		name, flags, _ := strings.Cut(fields[0], ",")
		repo := m.repository(name)
		for flag := range strings.SplitSeq(flags, ",") {
			r := m.Repos[repo]
			switch display, named := strings.CutPrefix(flag, "name="); {
			case flag == "archived":
				r.Archived = true
			case flag == "fork":
				r.Fork = true
			case flag == "private":
				r.Private = true
			case named:
				r.DisplayName = display
			}
		}
		if len(fields) < 5 {
			continue // none of it is indexed
		}
		ref := code.Ref(fields[1])
		if !slices.Contains(m.Refs, ref) {
			m.Refs = append(m.Refs, ref)
		}
		d := &ModelDocument{Text: []byte(fields[4] + "\n"), Lang: code.Language(fields[3]), Symbols: ModelSymbols([]byte(fields[4]))}
		m.Documents = append(m.Documents, d)
		m.Places = append(m.Places, ModelPlace{int(repo), fields[2], ref, d})
	}
	m.BuildIndex(t, 2)
}

// DescribeRepository sets the facts about a repository that a script names.
func (m *Model) DescribeRepository(t *testing.T, d *datadriven.TestData) {
	name, year := "", 0
	d.ScanArgs(t, "name", &name)
	d.MaybeScanArgs(t, "pushed", &year)
	r := m.Repos[m.repository(name)]
	r.Archived, r.Fork = d.HasArg("archived"), d.HasArg("fork")
	if year > 0 {
		r.PushedAt = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	}
}

var definition = regexp.MustCompile(`\b(func|class|def|struct|var) (?:\((\w+)\) )?(\w+)`)

var kindOf = map[string]code.SymbolKind{"func": "function", "def": "function", "class": "class", "struct": "struct", "var": "variable"}

func findDefinitions(text []byte) (out []code.Symbol) {
	for _, at := range definition.FindAllSubmatchIndex(text, -1) {
		s := code.Symbol{
			Name: string(text[at[6]:at[7]]), Kind: kindOf[string(text[at[2]:at[3]])], Offset: uint32(at[6]),
			Line: uint32(strings.Count(string(text[:at[6]]), "\n")) + 1,
		}
		if at[4] >= 0 { // func (Parent) name
			s.Parent, s.ParentKind = string(text[at[4]:at[5]]), "struct"
		}
		out = append(out, s)
	}
	return out
}

// AddSources adds a segment of one document for each line of input: repository, path, flags,
// language and text. It finds definitions in the text.
func (m *Model) AddSources(t *testing.T, input string) {
	t.Helper()
	lines := strings.Split(input, "\n")
	b := segment.NewBuilder(segment.Options{Seed: []byte{byte(len(m.OnDefault))}})
	places := segment.NewPlacesBuilder(len(lines))
	for i, line := range lines {
		f := strings.SplitN(line, " ", 5)
		text := []byte(strings.ReplaceAll(f[4], `\n`, "\n"))
		var flags code.Flags
		if bytes.IndexFunc(text, func(r rune) bool { return r >= 0x80 }) < 0 {
			flags = code.FlagASCII
		}
		for name, flag := range map[string]code.Flags{"test": code.FlagTest, "vendored": code.FlagVendored, "generated": code.FlagGenerated} {
			if strings.Contains(f[2], name) {
				flags |= flag
			}
		}
		key := code.DocumentKey{Blob: sha1.Sum(fmt.Append(text, i)), Language: code.Language(f[3])}
		if err := b.Add(segment.Document{Key: key, Text: text, Symbols: findDefinitions(text), Flags: flags}); err != nil {
			t.Fatal(err)
		}
		places.Add(segment.DocID(i), m.repository(f[0]), segment.NoRef, 0, f[1])
	}
	m.OnDefault = append(m.OnDefault, corpus.Segment{Reader: openSegment(t, b, nil).Reader, Places: places.Build()})
}
