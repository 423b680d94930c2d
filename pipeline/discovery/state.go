package discovery

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// State is the state of the syncs of a connection in this process.
type State struct {
	Name string
	Kind code.HostKind
	// Elsewhere means that another process syncs and knows the rest.
	Elsewhere bool
	Running   bool
	// StartedAt and FinishedAt are the times of the last sync, or zero. CompleteAt is
	// when the last complete one ended.
	StartedAt, FinishedAt, CompleteAt time.Time
	// NextAt is when the next sync is due; zero if none is.
	NextAt time.Time
	// WaitingUntil is set while the sync waits for a rate limit.
	WaitingUntil time.Time
	// Found counts the repositories that the last sync found and did not exclude,
	// Excluded those that it excluded.
	Found, Excluded int
	// Registered, Changed and Removed count the events of the last sync; Absent counts
	// the repositories that are removed if the next listing lacks them, too.
	Registered, Changed, Removed, Absent int
	// Issues are those of the last sync; MoreIssues counts those beyond the bound.
	Issues     []Issue
	MoreIssues int
}

// connection is a configured connection and its syncs.
type connection struct {
	Connection
	lister Lister
	// invalid is the reason why there is no lister.
	invalid error

	// The following fields are guarded by Syncer.mu.
	state State
	// held are the repositories in the last complete listing, or nil before it.
	held map[code.RepositoryID]struct{}
	// absent are the connection's repositories that the last complete listing lacked, with
	// the end of the first of the listings in a row that did.
	absent map[code.RepositoryID]time.Time
	// retargeted means that the settings that select repositories have changed since the
	// last removal, so the protection against mass removal does not apply.
	retargeted bool
	// requested means that a sync was requested after the last one began.
	requested bool
	// remove means that the next sync may remove any number of repositories.
	remove   bool
	failures int
	cancel   func()
}

// States returns the state of every discovered connection, by name.
func (s *Syncer) States() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]State, 0, len(s.mu.connections))
	for _, c := range s.mu.connections {
		state := c.state
		state.Elsewhere = !s.mu.leading
		state.Issues = slices.Clone(state.Issues)
		out = append(out, state)
	}
	slices.SortFunc(out, func(a, b State) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// SetConnections replaces the connections. Those with unchanged settings keep their
// state; the rest are synced immediately. configured are the names of all connections,
// including those that are not discovered.
func (s *Syncer) SetConnections(discovered []Connection, configured []string) {
	next := make(map[string]*connection, len(discovered))
	s.mu.Lock()
	for _, c := range discovered {
		old := s.mu.connections[c.Name]
		if old != nil && old.sameSettings(&c) {
			next[c.Name] = old
			continue
		}
		fresh := s.newConnection(c)
		if old != nil {
			fresh.retargeted = !old.sameTargets(&c)
			old.stop()
		}
		next[c.Name] = fresh
	}
	for name, old := range s.mu.connections {
		if next[name] == nil {
			old.stop()
		}
	}
	s.mu.lostByReload = s.mu.lostByReload || len(next) < len(s.mu.connections)
	s.mu.connections = next
	s.mu.configured = map[string]bool{}
	for _, name := range configured {
		s.mu.configured[name] = true
	}
	s.mu.orphansDone = false
	s.mu.Unlock()
	s.wakeUp()
}

func (c *connection) stop() {
	if c.cancel != nil {
		c.cancel()
	}
}

// RequestSync makes a sync of a connection due, or of all connections if name is empty.
// remove lets it remove any number of repositories. It reports whether there is such a
// connection.
func (s *Syncer) RequestSync(name string, remove bool) bool {
	s.mu.Lock()
	found := false
	for _, c := range s.mu.connections {
		if name == "" || c.Name == name {
			c.state.NextAt, c.requested, c.remove, found = s.o.Now(), true, c.remove || remove, true
		}
	}
	s.mu.Unlock()
	s.wakeUp()
	return found
}

func (s *Syncer) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// othersCompleteLocked reports whether all connections except one have been listed
// completely in this process. It must be called with mu held.
func (s *Syncer) othersCompleteLocked(but *connection) bool {
	for c := range maps.Values(s.mu.connections) {
		if c != but && c.held == nil {
			return false
		}
	}
	return true
}

// holderLocked returns a connection other than but that holds a repository.
func (s *Syncer) holderLocked(id code.RepositoryID, but *connection) *connection {
	for _, name := range slices.Sorted(maps.Keys(s.mu.connections)) {
		c := s.mu.connections[name]
		if _, held := c.held[id]; held && c != but {
			return c
		}
	}
	return nil
}
