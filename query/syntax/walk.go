package syntax

import "slices"

// Walk calls visit for q and, while visit returns true, for the nodes below it, parents
// first, from left to right.
func Walk(q Query, visit func(Query) bool) {
	if !visit(q) {
		return
	}
	for _, child := range childrenOf(q) {
		Walk(child, visit)
	}
}

// Map rebuilds q from its leaves up, replacing every node by f(node). f gets nodes whose
// children have been replaced and must not change them; q itself is not changed.
func Map(q Query, f func(Query) Query) Query {
	switch q := q.(type) {
	case *And:
		return f(&And{Children: mapAll(q.Children, f), At: q.At})
	case *Or:
		return f(&Or{Children: mapAll(q.Children, f), At: q.At})
	case *Not:
		return f(&Not{Child: Map(q.Child, f), At: q.At})
	}
	return f(q)
}

func mapAll(qs []Query, f func(Query) Query) []Query {
	out := make([]Query, len(qs))
	for i, q := range qs {
		out[i] = Map(q, f)
	}
	return out
}

func childrenOf(q Query) []Query {
	switch q := q.(type) {
	case *And:
		return q.Children
	case *Or:
		return q.Children
	case *Not:
		return []Query{q.Child}
	}
	return nil
}

// HasRevision reports whether a Revision occurs anywhere in q, even negated. If none
// does, the search covers default branches. Call it before Simplify, which may remove the
// part that names one.
func HasRevision(q Query) bool {
	found := false
	Walk(q, func(q Query) bool {
		if _, ok := q.(*Revision); ok {
			found = true
		}
		return !found
	})
	return found
}

// Equal reports whether two trees are the same apart from spans.
func Equal(a, b Query) bool {
	switch a := a.(type) {
	case *And:
		b, ok := b.(*And)
		return ok && slices.EqualFunc(a.Children, b.Children, Equal)
	case *Or:
		b, ok := b.(*Or)
		return ok && slices.EqualFunc(a.Children, b.Children, Equal)
	case *Not:
		b, ok := b.(*Not)
		return ok && Equal(a.Child, b.Child)
	case *RepoSet:
		b, ok := b.(*RepoSet)
		return ok && slices.Equal(a.Names, b.Names)
	}
	return equalLeaf(a, b)
}

func equalLeaf(a, b Query) bool {
	switch a := a.(type) {
	case *Const:
		b, ok := b.(*Const)
		return ok && a.Value == b.Value
	case *Text:
		b, ok := b.(*Text)
		return ok && a.Pattern == b.Pattern && a.Regexp == b.Regexp && a.Case == b.Case && slices.EqualFunc(a.Lines, b.Lines, equalLine)
	case *File:
		b, ok := b.(*File)
		return ok && a.Pattern == b.Pattern && a.Case == b.Case
	case *Repo:
		b, ok := b.(*Repo)
		return ok && a.Pattern == b.Pattern && a.Case == b.Case
	case *RepoHas:
		b, ok := b.(*RepoHas)
		return ok && a.Path == b.Path && a.Content == b.Content && a.Case == b.Case
	case *Owned:
		b, ok := b.(*Owned)
		return ok && a.Owner == b.Owner
	case *FileHas:
		b, ok := b.(*FileHas)
		return ok && a.Pattern == b.Pattern && a.Case == b.Case
	case *Symbol:
		b, ok := b.(*Symbol)
		return ok && a.Pattern == b.Pattern && a.Case == b.Case && equalConditions(a, b)
	}
	return equalFilter(a, b)
}

func equalConditions(a, b *Symbol) bool {
	return a.Parent == b.Parent && slices.EqualFunc(a.Kinds, b.Kinds, equalKinds) && slices.EqualFunc(a.Lines, b.Lines, equalLine)
}

func equalKinds(a, b Kinds) bool { return a.Not == b.Not && slices.Equal(a.Words, b.Words) }

func equalLine(a, b Line) bool {
	return a.Pattern == b.Pattern && a.Case == b.Case && a.Not == b.Not
}

func equalFilter(a, b Query) bool {
	switch a := a.(type) {
	case *Language:
		b, ok := b.(*Language)
		return ok && a.Name == b.Name
	case *Revision:
		b, ok := b.(*Revision)
		return ok && a.Pattern == b.Pattern && a.Exact == b.Exact
	case *Archived:
		b, ok := b.(*Archived)
		return ok && a.Want == b.Want
	case *Fork:
		b, ok := b.(*Fork)
		return ok && a.Want == b.Want
	case *Visibility:
		b, ok := b.(*Visibility)
		return ok && a.Want == b.Want
	case *Context:
		b, ok := b.(*Context)
		return ok && a.Name == b.Name
	case *Is:
		b, ok := b.(*Is)
		return ok && a.Trait == b.Trait
	case *Kinds:
		b, ok := b.(*Kinds)
		return ok && equalKinds(*a, *b)
	case *Line:
		b, ok := b.(*Line)
		return ok && equalLine(*a, *b)
	}
	return false
}
