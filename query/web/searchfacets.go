package web

import (
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// newFacetRows converts facets. Every value links to a search with its filter, whose
// count is that of the value; a value whose filter is in the query links to the query
// without it.
func (s *Server) newFacetRows(p searchParams, q *syntax.Parsed, facets []search.Facet) (rows []*facetRow) {
	next := p.fresh()
	for _, f := range facets {
		row := &facetRow{Name: string(f.Name), Title: s.texts.mustFormat("facet_" + string(f.Name)), More: f.More}
		if slices.Contains(groupings, f.Name) && len(f.Values) > 1 && !p.isTyping {
			row.GroupsURL = next.groupsURL(p.Query, f.Name)
		}
		for _, v := range f.Values {
			count := formatNumber(v.Matches)
			if !f.Complete {
				count = "≥" + count
			}
			value := facetValueRow{Value: facetText(f.Name, v.Value), Count: count}
			if without, ok := removeFilter(p.Query, v.Filter); ok {
				value.Chosen, value.URL = true, next.URL(without)
			} else {
				value.URL, value.NotURL = next.URL(addFilter(q, p.Query, v.Filter)), next.URL(addFilter(q, p.Query, "-"+v.Filter))
			}
			if f.Name == search.FacetKind || f.Name == search.FacetBranch {
				value.NotURL = ""
			}
			row.Values = append(row.Values, value)
		}
		if len(row.Values) == 1 && !row.Values[0].Chosen && f.Name != search.FacetTrait && !f.More {
			row.Values[0].NotURL = "" // nothing would be left
		}
		rows = append(rows, row)
	}
	return rows
}

// facetText returns the text of a value for people.
func facetText(name search.FacetName, value string) string {
	switch name {
	case search.FacetExtension:
		return "." + value
	case search.FacetBranch:
		return strings.TrimPrefix(strings.TrimPrefix(value, "refs/heads/"), "refs/tags/")
	}
	return value
}

// addFilter returns a query with one more filter, which applies to all of it.
func addFilter(q *syntax.Parsed, query, filter string) string {
	query = strings.TrimSpace(query)
	if _, isOr := q.Root.(*syntax.Or); isOr {
		query = "(" + query + ")"
	}
	return query + " " + filter
}

// removeFilter returns a query without a filter, and whether the query ends with it or
// contains it between blanks.
func removeFilter(query, filter string) (string, bool) {
	words := strings.Split(query, " ")
	i := slices.Index(words, filter)
	if i < 0 {
		if rest, ok := strings.CutSuffix(query, " "+filter); ok { // a filter with quoted blanks
			return rest, true
		}
		return query, false
	}
	rest := strings.TrimSpace(strings.Join(slices.Delete(words, i, i+1), " "))
	return rest, rest != ""
}

// selectNarrowest returns up to three filters that leave the fewest results, but some.
func selectNarrowest(rows []*facetRow) (links []facetLink) {
	for _, row := range rows {
		if len(row.Values) < 2 && !row.More || row.Name == "trait" || row.Name == "kind" || len(links) == 3 {
			continue
		}
		if v := row.Values[0]; !v.Chosen {
			links = append(links, facetLink{row.Title + ": " + v.Value, v.URL})
		}
	}
	return links
}
