package gitea

import (
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Headers of a delivery.
const (
	headerEvent     = "X-Gitea-Event"
	headerDelivery  = "X-Gitea-Delivery"
	headerSignature = "X-Gitea-Signature"
)

// DefaultURL is the host of a connection without a URL.
const DefaultURL = "https://gitea.com"

// Translator translates the deliveries of one Gitea connection.
type Translator struct {
	host    ingest.Host
	secrets [][]byte
}

var _ ingest.Translator = (*Translator)(nil)

// Open implements ingest.Open for Gitea.
func Open(c ingest.Connection) (ingest.Translator, error) {
	host, err := ingest.ParseHost(c, DefaultURL)
	if err != nil {
		return nil, err
	}
	secrets, err := ingest.ParseSecrets(c, "set the one of the webhook at Gitea")
	if err != nil {
		return nil, err
	}
	return &Translator{host: host, secrets: secrets}, nil
}

// Verify implements ingest.Translator. For a form, the signature covers the JSON in it.
func (t *Translator) Verify(r *ingest.Request) error {
	payload, err := ingest.FormPayload(r.Header, r.Body)
	if err != nil {
		return fmt.Errorf("%w: %w", ingest.ErrUnauthenticated, err)
	}
	if err := signature.HMAC(r.Header.Get(headerSignature), "", payload, t.secrets...); err != nil {
		return fmt.Errorf("%w: %s: %w", ingest.ErrUnauthenticated, headerSignature, err)
	}
	return nil
}

// DeliveryID implements ingest.Translator.
func (t *Translator) DeliveryID(r *ingest.Request) string { return r.Header.Get(headerDelivery) }

// body holds the fields that are read from payloads.
type body struct {
	Action     string      `json:"action"`
	Ref        string      `json:"ref"`
	RefType    string      `json:"ref_type"`
	SHA        string      `json:"sha"`
	Before     string      `json:"before"`
	After      string      `json:"after"`
	Repository *repository `json:"repository"`
	HeadCommit *struct {
		Timestamp time.Time `json:"timestamp"`
	} `json:"head_commit"`
	Pusher person `json:"pusher"`
	Sender person `json:"sender"`
}

type person struct {
	Login string `json:"login"`
}

type repository struct {
	ID            int64  `json:"id"`
	FullName      string `json:"full_name"`
	CloneURL      string `json:"clone_url"`
	HTMLURL       string `json:"html_url"`
	AvatarURL     string `json:"avatar_url"`
	Description   string `json:"description"`
	DefaultBranch string `json:"default_branch"`
	Private       *bool  `json:"private"`
	Internal      bool   `json:"internal"`
	Fork          bool   `json:"fork"`
	Archived      bool   `json:"archived"`
	Owner         struct {
		Visibility string `json:"visibility"`
	} `json:"owner"`
}

// isPrivate reports whether some users may not read the repository. A repository that is
// not private may still belong to an owner visible only to signed-in users or members.
func (r *repository) isPrivate() bool {
	return r.Private == nil || *r.Private || r.Internal || r.Owner.Visibility == "limited" || r.Owner.Visibility == "private"
}

// Translate implements ingest.Translator.
func (t *Translator) Translate(r *ingest.Request) (ingest.Delivery, error) {
	payload, err := ingest.FormPayload(r.Header, r.Body)
	if err != nil {
		return ingest.Delivery{}, err
	}
	d, err := t.translate(r.Header.Get(headerEvent), payload)
	d.ID = t.DeliveryID(r)
	return d, err
}

func (t *Translator) translate(name string, payload []byte) (ingest.Delivery, error) {
	switch name {
	case "push", "create", "delete", "repository":
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
	switch {
	case name == "repository" && b.Action == "deleted":
		return b.Repository.completeDelivery(ingest.Delivery{Outcome: ingest.Removed, Repository: r, Reason: "deleted on its host"}), nil
	case name == "repository":
		return ingest.IgnoreAction(b.Action, r), nil
	}
	var moves ingest.Moves
	if err := moves.Add(movedRef(name, &b)); err != nil {
		return ingest.Delivery{}, err
	}
	return moves.Complete(b.Repository.completeDelivery(ingest.Delivery{Outcome: ingest.Pushed, Repository: r}))
}

// completeDelivery returns d with what the payload says of the repository beyond its description.
func (r *repository) completeDelivery(d ingest.Delivery) ingest.Delivery {
	d.Identity, d.OmitsPrivate = fmt.Sprint(r.ID), r.Private == nil
	return d
}

// movedRef translates a push, or the creation or deletion of a branch or tag.
func movedRef(name string, b *body) (event.Push, error) {
	ref, before, after, pusher := b.Ref, b.Before, b.After, b.Pusher
	switch name {
	case "create":
		ref, before, after, pusher = ingest.FullRef(b.RefType, b.Ref), ingest.Zeros, b.SHA, b.Sender
	case "delete":
		// Gitea does not send the previous commit.
		ref, after, pusher = ingest.FullRef(b.RefType, b.Ref), ingest.Zeros, b.Sender
	default:
		if before == "" {
			return event.Push{}, fmt.Errorf("%w: before and after are required", ingest.ErrInvalidPayload)
		}
	}
	if after == "" {
		return event.Push{}, fmt.Errorf("%w: the new commit is missing", ingest.ErrInvalidPayload)
	}
	p, err := ingest.Move(ref, before, after)
	if err != nil {
		return event.Push{}, err
	}
	if b.HeadCommit != nil {
		p.HostTime = b.HeadCommit.Timestamp.UTC()
	}
	p.Pusher = ingest.Text(pusher.Login, event.MaxPusherBytes)
	return p, nil
}

func (t *Translator) repository(r *repository) (code.Repository, error) {
	if r == nil || r.ID <= 0 || r.FullName == "" {
		return code.Repository{}, fmt.Errorf("%w: repository.id and repository.full_name are required", ingest.ErrInvalidPayload)
	}
	if _, err := t.host.CheckCloneURL("repository.clone_url", r.CloneURL); err != nil {
		return code.Repository{}, err
	}
	return code.Repository{
		ID:            code.NewRepositoryID(t.host.Name, fmt.Sprint(r.ID)),
		Kind:          code.Gitea,
		Name:          t.host.Name + "/" + r.FullName,
		DisplayName:   r.FullName,
		CloneURL:      r.CloneURL,
		WebURL:        t.host.PageURL(r.HTMLURL),
		ImageURL:      code.KeepImageURL(r.AvatarURL),
		Description:   code.KeepDescription(r.Description),
		DefaultBranch: r.DefaultBranch,
		Fork:          r.Fork,
		Archived:      r.Archived,
		Private:       r.isPrivate(),
	}, nil
}
