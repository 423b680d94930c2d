package api

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// pageWindow selects a page of a list.
type pageWindow struct{ number, perPage int }

// pageParam returns the requested page; the document defines its bounds and default
// length.
func (p *params) pageParam() pageWindow { return pageWindow{p.intParam("page"), p.intParam("perPage")} }

func (p pageWindow) itemOffset() int { return (p.number - 1) * p.perPage }

// itemRange returns the range of the page in a list of n elements.
func (p pageWindow) itemRange(n int) (from, to int) {
	from = min(p.itemOffset(), n)
	return from, min(from+p.perPage, n)
}

// pageHeader returns X-Total-Count and, if there is more than one page, Link (RFC 8288).
// The link targets are paths relative to the server: page and perPage, then the request's
// parameters that select and order, as given.
func (p pageWindow) pageHeader(path string, total int, given *params, keep ...string) http.Header {
	h := http.Header{}
	h.Set("X-Total-Count", strconv.Itoa(total))
	last := (total + p.perPage - 1) / p.perPage
	if last <= 1 {
		return h
	}
	var links []string
	add := func(rel string, number int) {
		links = append(links, "<"+p.pageURL(path, number, given, keep)+`>; rel="`+rel+`"`)
	}
	add("first", 1)
	if p.number > 1 {
		add("prev", min(p.number-1, last))
	}
	if p.number < last {
		add("next", p.number+1)
	}
	add("last", last)
	h.Set("Link", strings.Join(links, ", "))
	return h
}

func (p pageWindow) pageURL(path string, number int, given *params, keep []string) string {
	var b strings.Builder
	b.WriteString(path + "?page=" + strconv.Itoa(number) + "&perPage=" + strconv.Itoa(p.perPage))
	for _, name := range keep {
		if v := given.values.Get(name); v != "" {
			b.WriteString("&" + name + "=" + url.QueryEscape(v))
		}
	}
	return b.String()
}
