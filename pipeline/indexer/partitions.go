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
		held map[int32]*held
	}
}

// held is what is known of one partition. It begins anew each time the partition
// is assigned.
type held struct {
	// causes has the refs of which the log told by a cause that is handled again,
	// when it was read last. What an earlier cause would say of them, readers drop
	// as overtaken. There are no more than the span of the worker's window allows.
	causes map[refKey]event.Offset
	// doubts has the repositories whose mirrors may be behind the log, and the
	// offset from which on.
	doubts map[code.RepositoryID]event.Offset
	// marked is the offset of the last mark; -1 before the first.
	marked event.Offset
}

// ofLocked returns what is known of a partition.
func (p *partitions) ofLocked(number int32) *held {
	h := p.mu.held[number]
	if h == nil {
		h = &held{causes: map[refKey]event.Offset{}, doubts: map[code.RepositoryID]event.Offset{}, marked: -1}
		if p.mu.held == nil {
			p.mu.held = map[int32]*held{}
		}
		p.mu.held[number] = h
	}
	return h
}

// begin notes that a partition was assigned.
func (p *partitions) begin(number int32, causes map[refKey]event.Offset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mu.held, number)
	p.ofLocked(number).causes = causes
}

// cause returns the last cause by which the log told of a ref when it was read last,
// if that came at or after the record to be handled then; -1 otherwise.
func (p *partitions) cause(k refKey, number int32) event.Offset {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cause, ok := p.ofLocked(number).causes[k]; ok {
		return cause
	}
	return -1
}

// doubt notes that the log may tell of a repository what its mirror does not
// follow, from an offset on.
func (p *partitions) doubt(number int32, repo code.RepositoryID, since event.Offset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	doubts := p.ofLocked(number).doubts
	if known, ok := doubts[repo]; !ok || since < known {
		doubts[repo] = since
	}
}

func (p *partitions) doubted(number int32, repo code.RepositoryID) (since event.Offset, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, ok = p.ofLocked(number).doubts[repo]
	return since, ok
}

// settled notes that a mirror follows again, and what the log told of it.
func (p *partitions) settled(number int32, repo code.RepositoryID, causes map[refKey]event.Offset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.ofLocked(number)
	delete(h.doubts, repo)
	for k, cause := range causes {
		h.causes[k] = max(h.causes[k], cause)
	}
}

// markedAt returns the offset of the last mark of a partition; -1 if this process has made
// none.
func (p *partitions) markedAt(number int32) event.Offset {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ofLocked(number).marked
}

// mark reports whether it is time for a mark at next, and then counts anew. There
// is none while a mirror is in doubt: it would hide what that has to read.
func (p *partitions) mark(number int32, next event.Offset, every int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.ofLocked(number)
	if len(h.doubts) > 0 || h.marked >= 0 && next < h.marked+event.Offset(every) {
		return false
	}
	h.marked = next
	return true
}
