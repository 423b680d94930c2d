package numbers

// table holds the numbers of one kind of thing.
type table[ID comparable, N ~int32] struct {
	numbers map[ID]N
	ids     []ID // index 0 has number 1
}

func (t *table[ID, N]) init() { t.numbers = map[ID]N{} }

// add assigns the next number to id.
func (t *table[ID, N]) add(id ID) {
	t.ids = append(t.ids, id)
	t.numbers[id] = N(len(t.ids))
}

// idOf returns the ID with that number, or the zero ID if there is none.
func (t *table[ID, N]) idOf(number N) (id ID) {
	if number < 1 || int(number) > len(t.ids) {
		return id
	}
	return t.ids[number-1]
}

// missingIDs returns the elements of ids that have no number, without duplicates, in
// their order, and no more than there are free numbers up to limit.
func (t *table[ID, N]) missingIDs(ids []ID, limit int) []ID {
	var out []ID
	seen := make(map[ID]struct{}, len(ids))
	for _, id := range ids {
		_, again := seen[id]
		if t.numbers[id] != 0 || again {
			continue
		}
		if len(t.ids)+len(out) >= limit {
			return out
		}
		seen[id] = struct{}{}
		out = append(out, id)
	}
	return out
}
