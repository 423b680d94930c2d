package mcp

import "fmt"

// listPage is the requested part of a list, by page and perPage or from an offset on, as
// far as it fits into the answer.
type listPage struct {
	total    int // entries of the list
	from, to int
	room     int // bytes left for entries
}

// pageOf returns the requested page of a list of n entries.
func (c *call) pageOf(n int) *listPage {
	perPage := c.args.getNumber("perPage")
	from := c.args.getNumber("offset")
	if from == 0 {
		from = (c.args.getNumber("page") - 1) * perPage
	}
	return &listPage{total: n, from: min(from, n), to: min(from+perPage, n), room: c.out.bytesLeft()}
}

// takeEntry reports whether an entry fits, and reserves its room.
func (p *listPage) takeEntry(entry any) bool {
	p.room -= len(encode(entry)) + 1
	return p.room >= 0
}

// nextPageNote explains how to request more after shown entries of the page. It returns
// an empty string at the end of the list.
func (p *listPage) nextPageNote(shown int) string {
	switch next := p.from + shown; {
	case p.from == p.total && p.total > 0:
		return fmt.Sprintf("there are only %d", p.total)
	case next < p.total:
		return fmt.Sprintf("%d more: offset=%d", p.total-next, next)
	}
	return ""
}
