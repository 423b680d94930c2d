package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Query is one query of a suite.
type Query struct {
	Class string `json:"class"`
	Name  string `json:"name"`
	Text  string `json:"query"`
	Limit int    `json:"limit"` // 0 counts everything
	Mix   Mix    `json:"mix"`
}

// Mix is the part of the throughput mix to which a query belongs.
type Mix string

// These are the parts of the throughput mix.
const (
	MixInteractive Mix = "interactive"
	MixHeavy       Mix = "heavy"
	MixNone        Mix = "none"
)

// These are the classes outside of the suite (testdata/classes.json).
const (
	ClassRare         = "rare"
	ClassSymbolExact  = "symbol-exact"
	ClassSymbolRegex  = "symbol-regex"
	ClassSymbolCommon = "symbol-common"
)

// easy contains the classes whose matches an index finds by a literal of at least three
// characters, with few requested matches: typical interactive queries. The other classes
// need a scan, a long list or an exact count.
var easy = map[string]bool{
	"rare-literal": true, "common-literal": true, "3-char": true, "case-sensitive": true, "case-insensitive": true, "phrase": true,
	"regex-class": true, "regex-anchor": true, "symbol": true, "file-filter": true, "lang-filter": true, "negation": true, "and-or": true,
	"repo-filter": true, "filename": true, "repo-list": true, "zero-hits": true, "limit-100": true,
}

// Easy reports whether the query belongs to an easy class.
func (q Query) Easy() bool { return easy[q.Class] }

// ErrInvalid is returned for invalid queries.
var ErrInvalid = errors.New("invalid query suite")

// maxQueries bounds one suite, because every query is sent several times to several
// engines.
const maxQueries = 1000

// Parse decodes files of queries, in order. Names must be unique over all files; an
// identical query with the same name is kept once.
func Parse(files ...[]byte) ([]Query, error) {
	var all []Query
	seen := make(map[string]Query)
	for i, data := range files {
		var f struct {
			Queries []Query `json:"queries"`
		}
		if err := json.Unmarshal(data, &f); err != nil {
			return nil, fmt.Errorf("%w: file %d: %v", ErrInvalid, i+1, err)
		}
		for _, q := range f.Queries {
			if err := q.validate(); err != nil {
				return nil, fmt.Errorf("file %d: %w", i+1, err)
			}
			if first, ok := seen[q.Name]; ok {
				if first != q {
					return nil, fmt.Errorf("%w: two different queries are named %q", ErrInvalid, q.Name)
				}
				continue
			}
			seen[q.Name] = q
			all = append(all, q)
		}
	}
	if len(all) == 0 || len(all) > maxQueries {
		return nil, fmt.Errorf("%w: %d queries, want 1 to %d", ErrInvalid, len(all), maxQueries)
	}
	return all, nil
}

func (q Query) validate() error {
	if q.Class == "" || q.Name == "" || strings.TrimSpace(q.Text) == "" || q.Limit < 0 {
		return fmt.Errorf("%w: query %q needs class, name, query and limit ≥ 0", ErrInvalid, q.Name)
	}
	return nil
}

// Interactive returns the queries of the interactive mix.
func Interactive(queries []Query) []Query {
	var mix []Query
	for _, q := range queries {
		if q.Mix == MixInteractive {
			mix = append(mix, q)
		}
	}
	return mix
}
