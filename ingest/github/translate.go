package github

import (
	"cmp"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// body holds the fields that are read from payloads of push and repository events.
type body struct {
	Action     string      `json:"action"`
	Ref        string      `json:"ref"`
	Before     string      `json:"before"`
	After      string      `json:"after"`
	Forced     *bool       `json:"forced"`
	Repository *repository `json:"repository"`
	HeadCommit *struct {
		Timestamp time.Time `json:"timestamp"`
	} `json:"head_commit"`
	Pusher struct {
		Name string `json:"name"`
	} `json:"pusher"`
	Member     user `json:"member"` // of member and membership
	Membership struct {
		User user `json:"user"`
	} `json:"membership"` // of organization
}

type user struct {
	ID int64 `json:"id"`
}

type repository struct {
	ID            int64  `json:"id"`
	FullName      string `json:"full_name"`
	CloneURL      string `json:"clone_url"`
	HTMLURL       string `json:"html_url"`
	Description   string `json:"description"`
	DefaultBranch string `json:"default_branch"`
	Fork          *bool  `json:"fork"`
	Archived      *bool  `json:"archived"`
	Private       *bool  `json:"private"`
	Owner         struct {
		AvatarURL string `json:"avatar_url"`
	} `json:"owner"`
}

// Translate translates the payload of an event. It does not set the delivery's ID, which
// is in a header.
func Translate(host ingest.Host, eventName string, payload []byte) (ingest.Delivery, error) {
	switch eventName {
	case "push", "repository", "member", "membership", "organization", "team", "team_add":
	case "":
		return ingest.Delivery{}, fmt.Errorf("%w: header %s is missing", ingest.ErrInvalidPayload, headerEvent)
	default:
		return ingest.IgnoreEvent(eventName, payload)
	}
	var b body
	if err := ingest.DecodeJSON(payload, &b); err != nil {
		return ingest.Delivery{}, err
	}
	switch eventName {
	case "push":
		return translatePush(host, &b)
	case "repository":
		return translateRepository(host, &b)
	}
	return translateAccess(host, eventName, &b)
}

// translateAccess translates an event about collaborators, teams and members. An event
// that names no repository concerns the whole organization.
func translateAccess(host ingest.Host, eventName string, b *body) (ingest.Delivery, error) {
	d := ingest.IgnoreKind(eventName)
	if eventName == "organization" && b.Action == "member_invited" || eventName == "team" && b.Action == "created" {
		return d, nil // grants no access
	}
	d.Outcome = ingest.AccessChanged
	if id := cmp.Or(b.Member.ID, b.Membership.User.ID); id > 0 && (b.Action == "removed" || b.Action == "member_removed") {
		d.RemovedUser = fmt.Sprint(id)
	}
	if b.Repository == nil {
		return d, nil
	}
	var err error
	d.Repository, err = toRepository(host, b.Repository)
	return d, err
}

func translatePush(host ingest.Host, b *body) (ingest.Delivery, error) {
	r, err := toRepository(host, b.Repository)
	if err != nil {
		return ingest.Delivery{}, err
	}
	if b.Before == "" || b.After == "" {
		return ingest.Delivery{}, fmt.Errorf("%w: before and after are required", ingest.ErrInvalidPayload)
	}
	p, err := ingest.Move(b.Ref, b.Before, b.After)
	if b.Forced != nil {
		p.Forced = fmt.Sprint(*b.Forced)
	}
	if b.HeadCommit != nil {
		p.HostTime = b.HeadCommit.Timestamp.UTC()
	}
	p.Pusher = ingest.Text(b.Pusher.Name, event.MaxPusherBytes)
	var moves ingest.Moves
	if err := moves.Add(p, err); err != nil {
		return ingest.Delivery{}, err
	}
	return moves.Complete(b.Repository.completeDelivery(ingest.Delivery{Outcome: ingest.Pushed, Repository: r}))
}

func translateRepository(host ingest.Host, b *body) (ingest.Delivery, error) {
	r, err := toRepository(host, b.Repository)
	if err != nil {
		return ingest.Delivery{}, err
	}
	switch b.Action {
	case "deleted":
		return b.Repository.completeDelivery(ingest.Delivery{Outcome: ingest.Removed, Repository: r, Reason: "deleted on its host"}), nil
	case "renamed", "edited", "transferred", "archived", "unarchived", "privatized", "publicized":
		return b.Repository.completeDelivery(ingest.Delivery{Outcome: ingest.Changed, Repository: r}), nil
	}
	return ingest.IgnoreAction(b.Action, r), nil
}

// completeDelivery returns d with what the payload says of the repository beyond its description.
func (r *repository) completeDelivery(d ingest.Delivery) ingest.Delivery {
	d.Identity, d.OmitsPrivate = fmt.Sprint(r.ID), r.Private == nil
	return d
}
