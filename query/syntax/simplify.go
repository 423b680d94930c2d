package syntax

// Simplify returns a tree that is true for the same documents: it flattens nested And and
// Or, folds double negations and constants, and replaces filters that restrict nothing
// with true. It does not change q.
//
// It may drop a Revision whose truth does not matter, so call HasRevision first.
func Simplify(q Query) Query { return Map(q, simplifyNode) }

// simplifyNode simplifies a node whose children are already simplified.
func simplifyNode(q Query) Query {
	switch q := q.(type) {
	case *And:
		return simplifyAnd(q)
	case *Or:
		return simplifyOr(q)
	case *Not:
		return simplifyNot(q)
	case *Archived:
		return trueIf(q.Want == Yes, q)
	case *Fork:
		return trueIf(q.Want == Yes, q)
	case *Visibility:
		return trueIf(q.Want == Any, q)
	}
	return q
}

func trueIf(always bool, q Query) Query {
	if always {
		return &Const{Value: true, At: q.Span()}
	}
	return q
}

func simplifyAnd(q *And) Query {
	var flat []Query
	for _, child := range q.Children {
		switch child := child.(type) {
		case *Const:
			if !child.Value {
				return &Const{Value: false, At: q.At}
			}
		case *And:
			flat = append(flat, child.Children...)
		default:
			flat = append(flat, child)
		}
	}
	switch len(flat) {
	case 0:
		return &Const{Value: true, At: q.At}
	case 1:
		return flat[0]
	}
	return &And{Children: flat, At: q.At}
}

func simplifyOr(q *Or) Query {
	var flat []Query
	for _, child := range q.Children {
		switch child := child.(type) {
		case *Const:
			if child.Value {
				return &Const{Value: true, At: q.At}
			}
		case *Or:
			flat = append(flat, child.Children...)
		default:
			flat = append(flat, child)
		}
	}
	switch len(flat) {
	case 0:
		return &Const{Value: false, At: q.At}
	case 1:
		return flat[0]
	}
	return &Or{Children: flat, At: q.At}
}

func simplifyNot(q *Not) Query {
	switch child := q.Child.(type) {
	case *Const:
		return &Const{Value: !child.Value, At: q.At}
	case *Not:
		return child.Child
	}
	return q
}
