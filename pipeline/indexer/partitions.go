package indexer

import (
	"sync"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// partitions holds what this process knows about its partitions.
type partitions struct {
	mu struct {
		sync.Mutex
		held map[int32]*partitionState
	}
}

// partitionState is the state of an assigned partition. It is reset at each assignment.
type partitionState struct {
	// causes maps a ref to the cause of its last announcement if that cause is about to
	// be handled again. Readers drop announcements with an earlier cause. The span of the
	// worker's window bounds the map.
	causes map[refKey]event.Offset
	// stale maps a repository whose mirror may lag behind the log to the offset from
	// which to catch up.
	stale map[code.RepositoryID]event.Offset
	// lastMark is the offset of the last mark; -1 before the first.
	lastMark event.Offset
}

// stateLocked returns the state of a partition. It must be called with mu held.
func (p *partitions) stateLocked(number int32) *partitionState {
	h := p.mu.held[number]
	if h == nil {
		h = &partitionState{causes: map[refKey]event.Offset{}, stale: map[code.RepositoryID]event.Offset{}, lastMark: -1}
		if p.mu.held == nil {
			p.mu.held = map[int32]*partitionState{}
		}
		p.mu.held[number] = h
	}
	return h
}

// beginPartition records that a partition was assigned.
func (p *partitions) beginPartition(number int32, causes map[refKey]event.Offset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mu.held, number)
	p.stateLocked(number).causes = causes
}

// lastCause returns the cause of the last announcement of a ref that was read from the
// log, or -1 if that cause precedes the first record to handle.
func (p *partitions) lastCause(k refKey, number int32) event.Offset {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cause, ok := p.stateLocked(number).causes[k]; ok {
		return cause
	}
	return -1
}

// markStale records that the mirror of a repository may lag behind the log from an offset
// on.
func (p *partitions) markStale(number int32, repo code.RepositoryID, since event.Offset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	doubts := p.stateLocked(number).stale
	if known, ok := doubts[repo]; !ok || since < known {
		doubts[repo] = since
	}
}

func (p *partitions) staleSince(number int32, repo code.RepositoryID) (since event.Offset, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, ok = p.stateLocked(number).stale[repo]
	return since, ok
}

// markCaughtUp records that a mirror has caught up with the log, and the causes that were
// read.
func (p *partitions) markCaughtUp(number int32, repo code.RepositoryID, causes map[refKey]event.Offset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.stateLocked(number)
	delete(h.stale, repo)
	for k, cause := range causes {
		h.causes[k] = max(h.causes[k], cause)
	}
}

// markedAt returns the offset of the last mark of a partition, or -1 if this process has
// saved none.
func (p *partitions) markedAt(number int32) event.Offset {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stateLocked(number).lastMark
}

// advanceMark reports whether a mark is due at next, and if so restarts the count. No
// mark is due while a mirror is stale, because it still has to read older records.
func (p *partitions) advanceMark(number int32, next event.Offset, every int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.stateLocked(number)
	if len(h.stale) > 0 || h.lastMark >= 0 && next < h.lastMark+event.Offset(every) {
		return false
	}
	h.lastMark = next
	return true
}
