package shards

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

const (
	// maxLayouts bounds the layouts of shard.peers.
	maxLayouts = 16
	// maxLayoutSteps bounds the shares that a search for them adds to layouts.
	maxLayoutSteps = 1 << 16
)

// layout is shares that are all partitions once. While partitions move, the peers form several:
// that of the owners before, and that of the next ones. A view is of one layout.
type layout []*share

// findLayouts returns the layouts that some shares of n partitions form. Those of the last shares
// in the settings are first. Of more than maxLayouts, it returns the first and the last ones: 16
// shards that replace 8 form 256.
func findLayouts(shares []*share, n int32) (layouts []layout, err error) {
	last := slices.Clone(shares)
	slices.Reverse(last)
	layouts, err = searchLayouts(last, n)
	if err != nil || len(layouts) <= maxLayouts {
		return layouts, err
	}
	first, err := searchLayouts(shares, n)
	if err != nil {
		return nil, err
	}
	first = first[:maxLayouts/2]
	slices.Reverse(first)
	return append(layouts[:maxLayouts/2], first...), nil
}

// searchLayouts returns the layouts of shares, those of the first ones first, and stops beyond
// maxLayouts.
func searchLayouts(shares []*share, n int32) (layouts []layout, err error) {
	covered := make([]bool, n)
	steps := 0
	var extend func(l layout)
	extend = func(l layout) {
		p := slices.Index(covered, false)
		if p < 0 {
			layouts = append(layouts, slices.Clone(l))
			return
		}
		for _, s := range shares {
			if steps > maxLayoutSteps || len(layouts) > maxLayouts {
				return
			}
			if !slices.Contains(s.owned, int32(p)) || slices.ContainsFunc(s.owned, func(o int32) bool { return covered[o] }) {
				continue
			}
			for _, o := range s.owned {
				covered[o] = true
			}
			steps++
			extend(append(l, s))
			for _, o := range s.owned {
				covered[o] = false
			}
		}
	}
	extend(nil)
	if steps > maxLayoutSteps {
		return nil, fmt.Errorf("%w: the shares can be combined in too many ways: move fewer partitions at a time", sharding.ErrShare)
	}
	return layouts, nil
}

// layoutLag is how a layout lags: the number of partitions of which no replica is reached, of those
// of which no replica that is reached has applied the records below some offsets, and the age of
// the others.
type layoutLag struct {
	lost, behind int
	age          time.Duration
}

func (l layout) measureLag(next []event.Offset) (lag layoutLag) {
	for _, s := range l {
		s.mu.Lock()
		best := s.bestLocked(next, nil)
		switch {
		case len(best) > 0:
			lag.age = max(lag.age, best[0].ageLocked())
		case s.countReachedLocked() > 0:
			lag.behind += len(s.owned)
		default:
			lag.lost += len(s.owned)
		}
		s.mu.Unlock()
	}
	return lag
}

// bestLayouts returns the layouts of which the fewest partitions are lost and, of those, the fewest
// are behind the offsets, and which lag least. Requests choose the first one.
func bestLayouts(layouts []layout, next []event.Offset) (best []layout) {
	if len(layouts) == 1 {
		return layouts
	}
	lags := make([]layoutLag, len(layouts))
	for i, l := range layouts {
		lags[i] = l.measureLag(next)
	}
	least := slices.MinFunc(lags, func(x, y layoutLag) int {
		return cmp.Or(cmp.Compare(x.lost, y.lost), cmp.Compare(x.behind, y.behind), cmp.Compare(x.age, y.age))
	})
	for i, lag := range lags {
		if lag.lost == least.lost && lag.behind == least.behind && lag.age-least.age <= lagTolerance {
			best = append(best, layouts[i])
		}
	}
	return best
}

// pickLayout returns the layout that a request chooses.
func pickLayout(layouts []layout, next []event.Offset) layout { return bestLayouts(layouts, next)[0] }
