package audit

import (
	"errors"

	"github.com/quarrysearch/quarry/projections/store"
)

// span is a part of a window that is counted in one unit: by days, by minutes, or entry
// by entry.
type span struct {
	kind   byte   // kindDay, kindMinute or kindListed
	lo, hi uint64 // in that unit; hi is exclusive
}

// cutSpans cuts a range of milliseconds into whole days, whole minutes and the rest,
// newest first. If days is false, it uses minutes only.
func cutSpans(lo, hi uint64, days bool) []span {
	if lo >= hi {
		return nil
	}
	first, last := ceilDiv(lo, minuteMillis), hi/minuteMillis
	if first >= last {
		return []span{{kindListed, lo, hi}}
	}
	out := []span{{kindListed, last * minuteMillis, hi}}
	out = append(out, minuteSpans(first, last, days)...)
	return append(out, span{kindListed, lo, first * minuteMillis})
}

func minuteSpans(first, last uint64, days bool) []span {
	firstDay, lastDay := ceilDiv(first, dayMinutes), last/dayMinutes
	if !days || firstDay >= lastDay {
		return []span{{kindMinute, first, last}}
	}
	return []span{{kindMinute, lastDay * dayMinutes, last}, {kindDay, firstDay, lastDay}, {kindMinute, first, firstDay * dayMinutes}}
}

func ceilDiv(a, b uint64) uint64 { return (a + b - 1) / b }

// keyBounds returns the bounds of the keys to count.
func (s span) keyBounds(l listID) (lo, hi []byte) {
	if s.kind == kindListed {
		return listedFrom(l, s.lo), listedFrom(l, s.hi)
	}
	return countersFrom(s.kind, l, s.lo), countersFrom(s.kind, l, s.hi)
}

// countEntries counts the entries of the window.
func (w *window) countEntries() (int, error) {
	n := 0
	for _, s := range cutSpans(w.lo, w.hi, true) {
		in, err := w.countSpan(s)
		if err != nil {
			return 0, err
		}
		n += in
	}
	return n, nil
}

func (w *window) countSpan(s span) (n int, err error) {
	if s.lo >= s.hi {
		return 0, nil
	}
	lo, hi := s.keyBounds(w.list)
	err = forEachRow(w.r, lo, hi, func(key, value []byte) error {
		if s.kind == kindListed {
			n++
			return nil
		}
		count, err := countOf(key, value)
		n += int(count)
		return err
	})
	return n, err
}

// skipNewest returns the time before which reading continues after the newest n entries,
// and the number of entries before it that must still be skipped, which is less than the
// entries of a minute.
func (w *window) skipNewest(n int) (to uint64, rest int, err error) {
	return w.skipInSpans(cutSpans(w.lo, w.hi, true), n)
}

func (w *window) skipInSpans(in []span, n int) (uint64, int, error) {
	for _, s := range in {
		if s.kind == kindListed {
			count, err := w.countSpan(s)
			if err != nil || n < count {
				return s.hi, n, err
			}
			n -= count
			continue
		}
		unit, rest, found, err := w.skipInUnits(s, n)
		if err != nil {
			return 0, 0, err
		}
		if found && s.kind == kindMinute {
			return (unit + 1) * minuteMillis, rest, nil
		}
		if found {
			return w.skipInSpans(cutSpans(unit*dayMillis, (unit+1)*dayMillis, false), rest)
		}
		n = rest
	}
	return w.lo, 0, nil // beyond the end
}

// skipInUnits returns the unit that contains the n-th newest entry of a span, and the
// number of its entries to skip.
func (w *window) skipInUnits(s span, n int) (unit uint64, rest int, found bool, err error) {
	if s.lo >= s.hi {
		return 0, n, false, nil
	}
	lo, hi := s.keyBounds(w.list)
	it, err := w.r.Iter(lo, hi)
	if err != nil {
		return 0, 0, false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.Last(); ok; {
		unit, count := counterUnit(it.Key()), 0
		if count, ok, err = sumUnit(it, unit); err != nil {
			return 0, 0, false, err
		}
		if n < count {
			return unit, n, true, nil
		}
		n -= count
	}
	return 0, n, false, it.Err()
}

// sumUnit adds up the counters of all topics for a unit, and moves the iterator to the
// unit before.
func sumUnit(it *store.Iterator, unit uint64) (sum int, ok bool, err error) {
	for ok = true; ok && counterUnit(it.Key()) == unit; ok = it.Prev() {
		count, err := countOf(it.Key(), it.Value())
		if err != nil {
			return 0, false, err
		}
		sum += int(count)
	}
	return sum, ok, it.Err()
}
