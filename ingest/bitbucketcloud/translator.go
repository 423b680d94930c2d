package bitbucketcloud

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Headers of a delivery.
const (
	headerEvent     = "X-Event-Key"
	headerDelivery  = "X-Request-UUID"
	headerSignature = "X-Hub-Signature"
)

// DefaultURL is the host of a connection without a URL.
const DefaultURL = "https://bitbucket.org"

// Translator translates the deliveries of one Bitbucket Cloud connection.
type Translator struct {
	host    ingest.Host
	secrets [][]byte
}

var _ ingest.Translator = (*Translator)(nil)

// Open implements ingest.Open for Bitbucket Cloud.
func Open(c ingest.Connection) (ingest.Translator, error) {
	host, err := ingest.ParseHost(c, DefaultURL)
	if err != nil {
		return nil, err
	}
	secrets, err := ingest.ParseSecrets(c, "set the one of the webhook at Bitbucket")
	if err != nil {
		return nil, err
	}
	return &Translator{host: host, secrets: secrets}, nil
}

// Verify implements ingest.Translator. The header has the name that GitHub uses for a
// SHA-1 signature but holds a SHA-256 one.
func (t *Translator) Verify(r *ingest.Request) error {
	if err := signature.HMAC(r.Header.Get(headerSignature), signature.GitHubPrefix, r.Body, t.secrets...); err != nil {
		return fmt.Errorf("%w: %s: %w", ingest.ErrUnauthenticated, headerSignature, err)
	}
	return nil
}

// DeliveryID implements ingest.Translator.
func (t *Translator) DeliveryID(r *ingest.Request) string { return r.Header.Get(headerDelivery) }

// body holds the fields that are read from payloads.
type body struct {
	Actor struct {
		Nickname    string `json:"nickname"`
		DisplayName string `json:"display_name"`
	} `json:"actor"`
	Repository *repository `json:"repository"`
	Push       *struct {
		Changes []change `json:"changes"`
	} `json:"push"`
}

type change struct {
	Old    *state `json:"old"`
	New    *state `json:"new"`
	Forced *bool  `json:"forced"`
}

// state is the state of a ref before or after a push.
type state struct {
	Type   string `json:"type"`
	Name   string `json:"name"`
	Target struct {
		Hash string    `json:"hash"`
		Date time.Time `json:"date"`
	} `json:"target"`
}

type repository struct {
	UUID        string `json:"uuid"`
	FullName    string `json:"full_name"`
	Description string `json:"description"`
	Private     *bool  `json:"is_private"`
	Project     struct {
		Key string `json:"key"`
	} `json:"project"`
	Parent *struct{} `json:"parent"` // the repository that this one is a fork of
	Links  struct {
		HTML   link `json:"html"`
		Avatar link `json:"avatar"`
	} `json:"links"`
	MainBranch struct {
		Name string `json:"name"`
	} `json:"mainbranch"`
}

type link struct {
	Href string `json:"href"`
}

// Translate implements ingest.Translator.
func (t *Translator) Translate(r *ingest.Request) (ingest.Delivery, error) {
	d, err := t.translate(r.Header.Get(headerEvent), r.Body)
	d.ID = t.DeliveryID(r)
	return d, err
}

func (t *Translator) translate(name string, payload []byte) (ingest.Delivery, error) {
	switch name {
	case "repo:push", "repo:updated", "repo:transfer", "repo:deleted":
	case "":
		return ingest.Delivery{}, fmt.Errorf("%w: header %s is missing", ingest.ErrInvalidPayload, headerEvent)
	default:
		return ingest.IgnoreEvent(name, payload)
	}
	var b body
	if err := ingest.DecodeJSON(payload, &b); err != nil {
		return ingest.Delivery{}, err
	}
	r, err := t.repository(b.Repository)
	if err != nil {
		return ingest.Delivery{}, err
	}
	switch name {
	case "repo:updated", "repo:transfer":
		return b.Repository.completeDelivery(ingest.Delivery{Outcome: ingest.Changed, Repository: r}), nil
	case "repo:deleted":
		return b.Repository.completeDelivery(ingest.Delivery{Outcome: ingest.Removed, Repository: r, Reason: "deleted on its host"}), nil
	}
	if b.Push == nil || len(b.Push.Changes) == 0 || len(b.Push.Changes) > ingest.MaxPushes {
		return ingest.Delivery{}, fmt.Errorf("%w: push.changes: want 1 to %d", ingest.ErrInvalidPayload, ingest.MaxPushes)
	}
	var moves ingest.Moves
	moved := false
	for i, c := range b.Push.Changes {
		p, ok, err := c.translate()
		if err != nil {
			err = fmt.Errorf("push.changes[%d]: %w", i, err)
		} else if !ok {
			continue
		}
		p.Pusher = ingest.Text(cmp.Or(b.Actor.Nickname, b.Actor.DisplayName), event.MaxPusherBytes)
		if err := moves.Add(p, err); err != nil {
			return ingest.Delivery{}, err
		}
		moved = true
	}
	if !moved {
		d := ingest.Ignore("the push moved neither a branch nor a tag")
		d.Repository = r
		return d, nil
	}
	return moves.Complete(b.Repository.completeDelivery(ingest.Delivery{Outcome: ingest.Pushed, Repository: r}))
}

// completeDelivery returns d with what the payload says of the repository beyond its description.
func (r *repository) completeDelivery(d ingest.Delivery) ingest.Delivery {
	d.Identity, d.OmitsPrivate = r.UUID, r.Private == nil
	return d
}

// translate translates the move of one ref; ok is false if it is neither a branch nor a
// tag.
func (c *change) translate() (p event.Push, ok bool, err error) {
	is := cmp.Or(c.New, c.Old)
	if is == nil {
		return event.Push{}, false, fmt.Errorf("%w: old and new are both missing", ingest.ErrInvalidPayload)
	}
	ref := ingest.FullRef(is.Type, is.Name)
	if ref == "" {
		return event.Push{}, false, nil
	}
	before, after := ingest.Zeros, ingest.Zeros
	if c.Old != nil {
		before = c.Old.Target.Hash
	}
	if c.New != nil {
		after = c.New.Target.Hash
	}
	if before == "" || after == "" {
		return event.Push{}, false, fmt.Errorf("%w: target.hash is required", ingest.ErrInvalidPayload)
	}
	if p, err = ingest.Move(ref, before, after); err != nil {
		return event.Push{}, false, err
	}
	if c.New != nil {
		p.HostTime = c.New.Target.Date.UTC()
	}
	if c.Forced != nil {
		p.Forced = fmt.Sprint(*c.Forced)
	}
	return p, true, nil
}

func (t *Translator) repository(r *repository) (code.Repository, error) {
	if r == nil || r.UUID == "" || strings.Count(r.FullName, "/") != 1 {
		return code.Repository{}, fmt.Errorf("%w: repository.uuid and repository.full_name are required", ingest.ErrInvalidPayload)
	}
	clone, err := t.host.ProjectURL("repository.full_name", r.FullName)
	if err != nil {
		return code.Repository{}, err
	}
	display := r.FullName
	if workspace, slug, _ := strings.Cut(r.FullName, "/"); r.Project.Key != "" {
		display = workspace + "/" + r.Project.Key + "/" + slug
	}
	return code.Repository{
		ID:            code.NewRepositoryID(t.host.Name, r.UUID),
		Kind:          code.BitbucketCloud,
		Name:          t.host.Name + "/" + display,
		DisplayName:   display,
		CloneURL:      clone + ".git",
		WebURL:        t.host.PageURL(r.Links.HTML.Href),
		ImageURL:      code.KeepImageURL(r.Links.Avatar.Href),
		Description:   code.KeepDescription(r.Description),
		DefaultBranch: r.MainBranch.Name,
		Fork:          r.Parent != nil,
		Private:       r.Private == nil || *r.Private,
	}, nil
}
