package compactor

import "time"

// groupByClass returns the segments of each class, in the order of the oldest segments.
func groupByClass(segments []*entry) [][]*entry {
	var groups [][]*entry
	number := map[string]int{}
	for _, e := range segments {
		i, found := number[e.class]
		if !found {
			i = len(groups)
			number[e.class], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], e)
	}
	return groups
}

// needsClasses reports whether there may be a merge that depends on the class of a segment
// that is not known: the segment may complete a tier, or its class may be quiet.
func (p Policy) needsClasses(segments []*entry, quiet bool) bool {
	unknown, some := make([]int, p.Tiers()+1), false
	for _, e := range segments {
		if e.classUnknown {
			unknown[p.tierForSize(e.tierSize())]++
			some = true
		}
	}
	if !some || quiet {
		return some
	}
	for _, class := range groupByClass(segments) {
		known := make([]int, p.Tiers()+1)
		for _, e := range class {
			known[p.tierOf(e)]++
		}
		for t, n := range unknown[:p.Tiers()] {
			if n > 0 && n+known[t] >= FanIn {
				return true
			}
		}
	}
	return false
}

// quietClass returns the quiet inputs of the first class of which no revision has arrived
// since a time, or none. next is the earliest time at which another class may be quiet;
// zero if there is none.
func (p Policy) quietClass(segments []*entry, quiet time.Duration, now time.Time) (inputs []*entry, next time.Time) {
	for _, class := range groupByClass(segments) {
		var arrived time.Time
		for _, e := range class {
			if e.arrivedAt.After(arrived) {
				arrived = e.arrivedAt
			}
		}
		if at := arrived.Add(quiet); at.After(now) {
			if next.IsZero() || at.Before(next) {
				next = at
			}
			continue
		}
		if inputs = p.quietInputs(class); len(inputs) > 0 {
			return inputs, next
		}
	}
	return nil, next
}
