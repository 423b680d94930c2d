package reconcile

import (
	"container/heap"
	"hash/fnv"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// nextLook returns the next time after now at which to check a repository: a multiple of
// the interval since 1970, offset by a hash of the ID.
func nextLook(id code.RepositoryID, now time.Time, interval time.Duration) time.Time {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id.String())) // never fails
	phase := int64(h.Sum64() % uint64(interval))
	since := now.UnixNano() - phase
	return time.Unix(0, (since/int64(interval)+1)*int64(interval)+phase)
}

// backoffInterval returns one interval for the first failure, two for the second, four …,
// up to MaxBackoff or the interval, whichever is longer.
func backoffInterval(times int, interval time.Duration) time.Duration {
	wait, most := interval, max(MaxBackoff, interval)
	for range times - 1 {
		if wait = min(2*wait, most); wait == most {
			break
		}
	}
	return wait
}

// schedule orders the repositories by the time of their next check. It implements
// heap.Interface.
type schedule []*repository

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].due.Before(s[j].due) }

func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

// Push implements heap.Interface.
func (s *schedule) Push(x any) {
	r := x.(*repository)
	r.index = len(*s)
	*s = append(*s, r)
}

// Pop implements heap.Interface.
func (s *schedule) Pop() any {
	last := len(*s) - 1
	r := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	r.index = unscheduled
	return r
}

// unscheduled is the index of a repository that is not in the schedule.
const unscheduled = -1

func (s *schedule) add(r *repository) {
	if r.index == unscheduled {
		heap.Push(s, r)
	}
}

func (s *schedule) removeRepository(r *repository) {
	if r.index != unscheduled {
		heap.Remove(s, r.index)
	}
}
