package mcp

// listPage is the requested part of a list, by page and perPage or from an offset on, as
// far as it fits into the answer.
type listPage struct {
	total    int // entries of the list
	from, to int
}

// pageOf returns the requested page of a list of n entries.
func (c *call) pageOf(n int) *listPage {
	perPage := c.args.getNumber("perPage")
	from := c.args.getNumber("offset")
	if from == 0 {
		from = (c.args.getNumber("page") - 1) * perPage
	}
	return &listPage{total: n, from: min(from, n), to: min(from+perPage, n)}
}

// addPageNote explains how to request more after shown entries of the page.
func (c *call) addPageNote(p *listPage, shown int) {
	switch next := p.from + shown; {
	case p.from == p.total && p.total > 0:
		c.addLinef("There are only %d.", p.total)
	case next < p.total:
		c.addLinef("%d more: offset=%d goes on.", p.total-next, next)
	}
}
