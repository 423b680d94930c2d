package random

import (
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"strings"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
)

// Query is a drawn query. Its class is its family.
type Query struct {
	suite.Query
	// Filter is the kind of filter that was added, or NoFilter.
	Filter string
}

// These are the kinds of filters.
const (
	NoFilter         = "none"
	RepositoryFilter = "repo:"
	FileFilter       = "file:NAME"
	FolderFilter     = "file:^dir/"
	LanguageFilter   = "lang:"
	NegatedFilter    = "-file:"
)

// Limits are the limits of the drawn queries; 0 counts everything.
var Limits = []int{10, 100, 1000, 10_000, 0}

// filteredShare is the share of the queries for text that get a filter.
const filteredShare = 1.0 / 3

// maxDraws bounds the attempts for one query, since not every place in a text fits every
// family.
const maxDraws = 200

// Draw returns n queries. Families take turns, so that each has about the same number;
// limits take turns within a family. Queries may repeat only across seeds.
func (s *Sample) Draw(seed uint64, n int) ([]Query, error) {
	d := &drawer{Sample: s, r: rand.New(rand.NewPCG(seed, 1))}
	var out []Query
	seen := map[string]bool{}
	for i := range n {
		f := families[i%len(families)]
		q, ok := d.drawQuery(f, seen)
		if !ok {
			continue
		}
		q.Limit = Limits[i/len(families)%len(Limits)]
		q.Name = fmt.Sprintf("random-%d-%d", seed, i)
		seen[q.Text] = true
		out = append(out, q)
	}
	if len(out) < n/2 {
		return nil, fmt.Errorf("%w: %d of %d queries could be drawn", ErrNoText, len(out), n)
	}
	return out, nil
}

// drawer draws from a sample with a sequence of random numbers.
type drawer struct {
	*Sample
	r *rand.Rand
}

// drawQuery draws a query of a family that is not in seen.
func (d *drawer) drawQuery(f family, seen map[string]bool) (Query, bool) {
	for range maxDraws {
		t := f.draw(d)
		if t.text == "" {
			continue
		}
		q := Query{Query: suite.Query{Class: f.name, Text: t.text}, Filter: NoFilter}
		if f.filtered && d.r.Float64() < filteredShare {
			var filter string
			if q.Filter, filter = d.drawFilter(t.from); filter != "" {
				q.Text = filter + " " + t.withGroup()
			}
		}
		if !seen[q.Text] {
			return q, true
		}
	}
	return Query{}, false
}

// drawFilter returns a filter that the file passes, or that excludes other files.
func (d *drawer) drawFilter(f *file) (kind, text string) {
	switch d.r.IntN(5) {
	case 0:
		return RepositoryFilter, "repo:^" + regexp.QuoteMeta(f.repository) + "$"
	case 1:
		if stem := fileStem(f.path); stem != "" {
			return FileFilter, "file:" + stem
		}
	case 2:
		if folder := path.Dir(f.path); folder != "." {
			return FolderFilter, "file:" + quoteToken("^"+regexp.QuoteMeta(folder)+"/")
		}
	case 3:
		if language, ok := languages[path.Ext(f.path)]; ok {
			return LanguageFilter, "lang:" + strings.ToLower(string(language))
		}
	default:
		if other := d.drawFile(); path.Ext(other.path) != path.Ext(f.path) && path.Ext(other.path) != "" {
			return NegatedFilter, "-file:" + quoteToken(regexp.QuoteMeta(path.Ext(other.path))+"$")
		}
	}
	return NoFilter, ""
}

// fileStem returns the name of a file without its extension, if it is an identifier.
func fileStem(p string) string {
	stem, _, _ := strings.Cut(path.Base(p), ".")
	if len(stem) < minWordBytes || wordPattern.FindString(stem) != stem {
		return ""
	}
	return stem
}

func (d *drawer) drawFile() *file { return &d.files[d.r.IntN(len(d.files))] }

// drawLine returns a line of a file with at least n characters besides its indentation,
// or an empty one.
func (d *drawer) drawLine(n int) (f *file, number int, line string) {
	f = d.drawFile()
	number = d.r.IntN(len(f.lines))
	line = strings.TrimSpace(f.lines[number])
	if len(line) < n || len(line) > 300 || !isPrintable(line) {
		return f, number, ""
	}
	return f, number, line
}

// isPrintable reports whether a text consists of printable ASCII, so that all engines
// read it alike.
func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// drawWord returns an identifier of a random file.
func (d *drawer) drawWord(minBytes int) (*file, string) {
	f, _, line := d.drawLine(minBytes)
	words := wordPattern.FindAllString(line, -1)
	if len(words) == 0 {
		return f, ""
	}
	w := words[d.r.IntN(len(words))]
	if len(w) < minBytes || len(w) > maxWordBytes {
		return f, ""
	}
	return f, w
}

var plainToken = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.]*$`)

// quoteToken quotes a token of a query, unless it is an ordinary word.
func quoteToken(token string) string {
	if plainToken.MatchString(token) && token != "or" {
		return token
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(token) + `"`
}
