package rpc

import (
	"errors"
	"slices"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
)

// listChange describes the repositories of a search.ShardState by those that the last session of
// the connection got: the same in the same order, but for those at some places. A session gets a
// list of 300 bytes for each repository that its caller may see, and most lists are equal.
type listChange struct {
	Places       []int32
	Repositories []*corpus.Repository // at the places
}

// errList means that a shard describes a list that the front cannot have.
var errList = errors.New("the list of repositories does not follow from the one before")

// changeOf returns the change from one list to another, or nil if they have other repositories, or
// most have changed. Repositories of views do not change, so that equal pointers are equal.
func changeOf(before, now []*corpus.Repository) *listChange {
	if len(before) != len(now) || len(now) == 0 {
		return nil
	}
	c := &listChange{}
	for i, r := range now {
		if before[i] == r {
			continue
		}
		if before[i].ID != r.ID || len(c.Places) > len(now)/2 {
			return nil
		}
		c.Places, c.Repositories = append(c.Places, int32(i)), append(c.Repositories, r)
	}
	return c
}

// applyTo returns the list after the change.
func (c *listChange) applyTo(before []*corpus.Repository) ([]*corpus.Repository, error) {
	if len(c.Places) != len(c.Repositories) {
		return nil, errList
	}
	now := slices.Clone(before)
	for i, place := range c.Places {
		if int(place) >= len(now) || place < 0 || c.Repositories[i] == nil || now[place].ID != c.Repositories[i].ID {
			return nil, errList
		}
		now[place] = c.Repositories[i]
	}
	return now, nil
}

// shortenList replaces the list of a reply that opens a session by its change, and returns the list
// for the next session.
func (r *reply) shortenList(before []*corpus.Repository, isNext bool) []*corpus.Repository {
	if r.Reply == nil || r.Reply.Open == nil {
		return before
	}
	state := *r.Reply.Open
	if c := changeOf(before, state.Repositories); isNext && c != nil {
		now := state.Repositories
		state.Repositories, r.List = nil, c
		r.Reply = &search.ShardReply{Open: &state}
		return now
	}
	return state.Repositories
}

// completeList is the reverse of shortenList.
func (r *reply) completeList(before []*corpus.Repository) (now []*corpus.Repository, err error) {
	if r.Reply == nil || r.Reply.Open == nil {
		return before, nil
	}
	if r.List != nil {
		if r.Reply.Open.Repositories, err = r.List.applyTo(before); err != nil {
			return nil, err
		}
	}
	return r.Reply.Open.Repositories, nil
}
