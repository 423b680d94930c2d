package api

import (
	"slices"
	"strings"
	"sync"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/schemas/code"
)

// maxListed bounds the repositories in all cached lists: 8 MiB of pointers.
const maxListed = 1 << 20

// A listKey identifies a list: the repositories in it, and their order.
type listKey struct {
	visible auth.Visible
	sort    string // name or pushed
	// filter is a part of the name, in lower case, and connection the name of a
	// connection; empty means all.
	filter, connection string
}

// listings caches lists of repositories for requests of successive pages: building a list
// reads all repositories, returning a page does not. All lists belong to one state of the
// catalog; the oldest are dropped first.
type listings struct {
	mu struct {
		sync.Mutex
		of    catalogID
		lists map[listKey][]*corpus.Repository
		order []listKey
		size  int
		kinds map[auth.Visible]map[string]code.HostKind // of connections, by name
	}
}

// catalogID identifies a state of the catalog, and keeps that state from being freed.
type catalogID struct {
	first **corpus.Repository
	n     int
}

func idOf(all []*corpus.Repository) catalogID {
	if len(all) == 0 {
		return catalogID{}
	}
	return catalogID{&all[0], len(all)}
}

// listFor returns the repositories in all that match a key, in the key's order. all must
// be ordered by name and ID. The caller must not modify the slice.
func (l *listings) listFor(all []*corpus.Repository, key listKey) []*corpus.Repository {
	if key == (listKey{sort: "name"}) || len(all) == 0 {
		return all
	}
	id := idOf(all)
	if list, ok := l.get(id, key); ok {
		return list
	}
	list := l.makeList(all, key)
	l.put(id, key, list)
	return list
}

func (l *listings) get(id catalogID, key listKey) ([]*corpus.Repository, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, ok := l.mu.lists[key]
	return list, ok && l.mu.of == id
}

func (l *listings) put(id catalogID, key listKey, list []*corpus.Repository) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.of != id {
		l.beginLocked(id)
	}
	if _, ok := l.mu.lists[key]; ok {
		return
	}
	l.mu.lists[key] = list
	l.mu.order = append(l.mu.order, key)
	for l.mu.size += 1 + len(list); l.mu.size > maxListed && len(l.mu.order) > 1; {
		oldest := l.mu.order[0]
		l.mu.size -= 1 + len(l.mu.lists[oldest])
		delete(l.mu.lists, oldest)
		l.mu.order = l.mu.order[1:]
	}
}

func (l *listings) beginLocked(id catalogID) {
	l.mu.of, l.mu.lists, l.mu.order, l.mu.size = id, map[listKey][]*corpus.Repository{}, nil, 0
	l.mu.kinds = map[auth.Visible]map[string]code.HostKind{}
}

// maxKinds bounds the number of callers whose connection kinds are cached.
const maxKinds = 1024

// connectionKinds returns the kinds of the connections, by name, of the repositories that
// a caller sees; made computes them from those repositories. The caller must not modify
// the map.
func (l *listings) connectionKinds(all []*corpus.Repository, visible auth.Visible, made func([]*corpus.Repository) map[string]code.HostKind) map[string]code.HostKind {
	if len(all) == 0 {
		return nil // the zero catalogID is also that of l before its first list
	}
	id := idOf(all)
	l.mu.Lock()
	kinds, ok := l.mu.kinds[visible]
	ok = ok && l.mu.of == id
	l.mu.Unlock()
	if ok {
		return kinds
	}
	kinds = made(l.listFor(all, listKey{visible: visible, sort: "name"}))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.of != id {
		l.beginLocked(id)
	}
	if len(l.mu.kinds) >= maxKinds {
		clear(l.mu.kinds)
	}
	l.mu.kinds[visible] = kinds
	return kinds
}

// makeList derives a list from the one with one condition less.
func (l *listings) makeList(all []*corpus.Repository, key listKey) []*corpus.Repository {
	wider := key
	switch {
	case key.filter != "":
		wider.filter = ""
		return filterRepositories(l.listFor(all, wider), func(r *corpus.Repository) bool { return strings.Contains(strings.ToLower(r.Name), key.filter) })
	case key.connection != "":
		wider.connection = ""
		return filterRepositories(l.listFor(all, wider), func(r *corpus.Repository) bool { return r.Connection == key.connection })
	case key.sort == "pushed":
		wider.sort = "name"
		list := slices.Clone(l.listFor(all, wider))
		slices.SortStableFunc(list, comparePush)
		return list
	}
	return filterRepositories(all, func(r *corpus.Repository) bool { return key.visible.Sees(&r.Repository) })
}

func filterRepositories(list []*corpus.Repository, match func(*corpus.Repository) bool) []*corpus.Repository {
	var out []*corpus.Repository
	for _, r := range list {
		if match(r) {
			out = append(out, r)
		}
	}
	return out
}

// comparePush orders by the time of the last push; repositories without a push count as
// the oldest.
func comparePush(a, b *corpus.Repository) int {
	if a.PushedAt.IsZero() != b.PushedAt.IsZero() {
		if a.PushedAt.IsZero() {
			return 1
		}
		return -1
	}
	return a.PushedAt.Compare(b.PushedAt)
}

// repositoriesNamed returns the repositories with a full name, from all repositories
// ordered by name and ID.
func repositoriesNamed(all []*corpus.Repository, name string) []*corpus.Repository {
	from, _ := slices.BinarySearchFunc(all, name, func(r *corpus.Repository, name string) int { return strings.Compare(r.Name, name) })
	to := from
	for to < len(all) && all[to].Name == name {
		to++
	}
	return all[from:to]
}
