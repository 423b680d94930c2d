package indexer

import (
	"sync"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// partitions is what this process knows of those it holds.
type partitions struct {
	mu struct {
		sync.Mutex
		held map[int32]*partitionState
	}
}

// held is what is known of one partition. It begins anew each time the partition
// is assigned.
type partitionState struct {
	// causes has the refs of which the log told by a cause that is handled again,
	// when it was read last. What an earlier cause would say of them, readers drop
	// as overtaken. There are no more than the span of the worker's window allows.
	causes map[refKey]event.Offset
	// doubts has the repositories whose mirrors may be behind the log, and the
	// offset from which on.
	stale map[code.RepositoryID]event.Offset
	// marked is the offset of the last mark; -1 before the first.
	lastMark event.Offset
}

// stateLocked returns what is known of a partition.
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

// beginPartition notes that a partition was assigned.
func (p *partitions) beginPartition(number int32, causes map[refKey]event.Offset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mu.held, number)
	p.stateLocked(number).causes = causes
}

// lastCause returns the last cause by which the log told of a ref when it was read last,
// if that came at or after the record to be handled then; -1 otherwise.
func (p *partitions) lastCause(k refKey, number int32) event.Offset {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cause, ok := p.stateLocked(number).causes[k]; ok {
		return cause
	}
	return -1
}

// markStale notes that the log may tell of a repository what its mirror does not
// follow, from an offset on.
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

// markCaughtUp notes that a mirror follows again, and what the log told of it.
func (p *partitions) markCaughtUp(number int32, repo code.RepositoryID, causes map[refKey]event.Offset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.stateLocked(number)
	delete(h.stale, repo)
	for k, cause := range causes {
		h.causes[k] = max(h.causes[k], cause)
	}
}

// markedAt returns the offset of the last mark of a partition; -1 if this process has made
// none.
func (p *partitions) markedAt(number int32) event.Offset {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stateLocked(number).lastMark
}

// advanceMark reports whether it is time for a mark at next, and then counts anew. There
// is none while a mirror is in doubt: it would hide what that has to read.
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
