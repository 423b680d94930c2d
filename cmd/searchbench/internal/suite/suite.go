package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Query is one question.
type Query struct {
	Class string `json:"class"`
	Name  string `json:"name"`
	Text  string `json:"query"`
	Limit int    `json:"limit"` // 0: count everything
	Mix   Mix    `json:"mix"`
}

// Mix says which part of the throughput mix a query belongs to.
type Mix string

// The parts of the throughput mix.
const (
	MixInteractive Mix = "interactive"
	MixHeavy       Mix = "heavy"
	MixNone        Mix = "none"
)

// The classes outside of the suite (testdata/classes.json).
const (
	ClassRare         = "rare"
	ClassSymbolExact  = "symbol-exact"
	ClassSymbolRegex  = "symbol-regex"
	ClassSymbolCommon = "symbol-common"
)

// easy are the classes in which an index finds its matches by a literal of three or more characters and few of them are requested: what people
// type. The others need a scan, a long list or an exact count.
var easy = map[string]bool{
	"rare-literal": true, "common-literal": true, "3-char": true, "case-sensitive": true, "case-insensitive": true, "phrase": true,
	"regex-class": true, "regex-anchor": true, "symbol": true, "file-filter": true, "lang-filter": true, "negation": true, "and-or": true,
	"repo-filter": true, "filename": true, "repo-list": true, "zero-hits": true, "limit-100": true,
}

// Easy says whether the query's class is one of the easy ones.
func (q Query) Easy() bool { return easy[q.Class] }

// ErrInvalid is returned for invalid queries.
var ErrInvalid = errors.New("invalid query suite")

// maxQueries bounds one suite; every query is sent several times to several engines.
const maxQueries = 1000

// Parse decodes files of queries, in order. Names are unique over all of them: an equal query under an equal name is taken once.
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
