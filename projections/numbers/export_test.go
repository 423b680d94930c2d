package numbers

// SetLimit lowers the last number.
func (n *Numbers) SetLimit(limit int) { n.limit = limit }
