package shards

import (
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

const (
	// maxLayouts bounds the layouts of shard.peers.
	maxLayouts = 16
	// maxLayoutSteps bounds the shares that the search for them adds to layouts.
	maxLayoutSteps = 1 << 16
)

// layout is shares that are all partitions once. While partitions move, the peers form several:
// that of the owners before, and that of the next ones. A view is of one layout.
type layout []*share

// findLayouts returns the layouts that some shares of n partitions form. Those of the last shares
// in the settings are first.
func findLayouts(shares []*share, n int32) (layouts []layout, err error) {
	covered := make([]bool, n)
	steps := 0
	var extend func(l layout)
	extend = func(l layout) {
		p := slices.Index(covered, false)
		if p < 0 {
			layouts = append(layouts, slices.Clone(l))
			return
		}
		for _, s := range slices.Backward(shares) {
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
	if steps > maxLayoutSteps || len(layouts) > maxLayouts {
		return nil, fmt.Errorf("%w: the shares are all partitions in more than %d ways, or in too many to count: move fewer partitions at a time", sharding.ErrShare, maxLayouts)
	}
	return layouts, nil
}

// measureLag returns the number of partitions of which no replica that is reached has applied the
// records below the offsets, and the age of the others.
func (l layout) measureLag(next []event.Offset) (lost int, age time.Duration) {
	for _, s := range l {
		s.mu.Lock()
		best := s.bestLocked(next, nil)
		if len(best) == 0 {
			lost += len(s.owned)
		} else {
			age = max(age, best[0].ageLocked())
		}
		s.mu.Unlock()
	}
	return lost, age
}

// pickLayout returns the layout of which the fewest partitions are lost or behind the offsets.
// Of those, it is the first one unless another lags less.
func pickLayout(layouts []layout, next []event.Offset) layout {
	if len(layouts) == 1 {
		return layouts[0]
	}
	var picked layout
	var pickedLost int
	var pickedAge time.Duration
	for _, l := range layouts {
		lost, age := l.measureLag(next)
		if picked == nil || lost < pickedLost || lost == pickedLost && pickedAge-age > lagTolerance {
			picked, pickedLost, pickedAge = l, lost, age
		}
	}
	return picked
}
