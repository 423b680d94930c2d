package bitbucketserver

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Headers of a delivery.
const (
	headerEvent     = "X-Event-Key"
	headerDelivery  = "X-Request-Id"
	headerSignature = "X-Hub-Signature"
)

// eventTest is the connection test, which Bitbucket sends without a signature.
const eventTest = "diagnostics:ping"

// Translator translates the deliveries of one Bitbucket Server connection.
type Translator struct {
	host       ingest.Host
	secrets    [][]byte
	allowToken bool
}

var _ ingest.Translator = (*Translator)(nil)

// Open implements ingest.Open for Bitbucket Server. With AllowToken, a secret of the form
// user:password is also accepted through HTTP basic authentication.
func Open(c ingest.Connection) (ingest.Translator, error) {
	host, err := ingest.ParseHost(c, "")
	if err != nil {
		return nil, err
	}
	secrets, err := ingest.ParseSecrets(c, "set the one of the webhook at Bitbucket")
	if err != nil {
		return nil, err
	}
	return &Translator{host: host, secrets: secrets, allowToken: c.AllowToken}, nil
}

// Verify implements ingest.Translator.
func (t *Translator) Verify(r *ingest.Request) error {
	header := r.Header.Get(headerSignature)
	if r.Header.Get(headerEvent) == eventTest && header == "" && r.Header.Get("Authorization") == "" {
		return ingest.ErrUnsignedTest
	}
	if user, password, ok := (&http.Request{Header: r.Header}).BasicAuth(); ok && t.allowToken && header == "" {
		if err := signature.Basic(user, password, t.secrets...); err != nil {
			return fmt.Errorf("%w: basic authentication: %w", ingest.ErrUnauthenticated, err)
		}
		return nil
	}
	if err := signature.HMAC(header, signature.GitHubPrefix, r.Body, t.secrets...); err != nil {
		return fmt.Errorf("%w: %s: %w", ingest.ErrUnauthenticated, headerSignature, err)
	}
	return nil
}

// DeliveryID implements ingest.Translator.
func (t *Translator) DeliveryID(r *ingest.Request) string { return r.Header.Get(headerDelivery) }

// body holds the fields that are read from payloads.
type body struct {
	Actor struct {
		Name string `json:"name"`
	} `json:"actor"`
	Repository *repository `json:"repository"`
	New        *repository `json:"new"` // sent with repo:modified
	Changes    []struct {
		Ref struct {
			ID string `json:"id"`
		} `json:"ref"`
		FromHash string `json:"fromHash"`
		ToHash   string `json:"toHash"`
	} `json:"changes"`
}

type repository struct {
	ID          int64  `json:"id"`
	Slug        string `json:"slug"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Public      *bool  `json:"public"`
	Project     struct {
		Key string `json:"key"`
	} `json:"project"`
	Origin   *struct{} `json:"origin"` // the repository that this one is a fork of
	Archived *bool     `json:"archived"`
	Links    struct {
		Clone []struct {
			Href string `json:"href"`
			Name string `json:"name"`
		} `json:"clone"`
	} `json:"links"`
}

// Translate implements ingest.Translator.
func (t *Translator) Translate(r *ingest.Request) (ingest.Delivery, error) {
	d, err := t.translate(r.Header.Get(headerEvent), r.Body)
	d.ID = t.DeliveryID(r)
	return d, err
}

func (t *Translator) translate(name string, payload []byte) (ingest.Delivery, error) {
	switch name {
	case "repo:refs_changed", "repo:modified", "repo:deleted":
	case eventTest:
		return ingest.IgnoreKind(name), nil // regardless of its body
	case "":
		return ingest.Delivery{}, fmt.Errorf("%w: header %s is missing", ingest.ErrInvalidPayload, headerEvent)
	default:
		return ingest.IgnoreEvent(name, payload)
	}
	var b body
	if err := ingest.DecodeJSON(payload, &b); err != nil {
		return ingest.Delivery{}, err
	}
	switch name {
	case "repo:modified":
		r, err := t.repository("new", b.New)
		if err != nil {
			return ingest.Delivery{}, err
		}
		return b.New.completeDelivery(ingest.Delivery{Outcome: ingest.Changed, Repository: r}), nil
	case "repo:deleted":
		r, err := t.repository("repository", b.Repository)
		if err != nil {
			return ingest.Delivery{}, err
		}
		return b.Repository.completeDelivery(ingest.Delivery{Outcome: ingest.Removed, Repository: r, Reason: "deleted on its host"}), nil
	}
	return t.translatePush(&b)
}

func (t *Translator) translatePush(b *body) (ingest.Delivery, error) {
	r, err := t.repository("repository", b.Repository)
	if err != nil {
		return ingest.Delivery{}, err
	}
	if len(b.Changes) == 0 || len(b.Changes) > ingest.MaxPushes {
		return ingest.Delivery{}, fmt.Errorf("%w: changes: want 1 to %d, have %d", ingest.ErrInvalidPayload, ingest.MaxPushes, len(b.Changes))
	}
	var moves ingest.Moves
	for i, c := range b.Changes {
		if c.FromHash == "" || c.ToHash == "" {
			return ingest.Delivery{}, fmt.Errorf("%w: changes[%d]: fromHash and toHash are required", ingest.ErrInvalidPayload, i)
		}
		p, err := ingest.Move(c.Ref.ID, c.FromHash, c.ToHash)
		p.Pusher = ingest.Text(b.Actor.Name, event.MaxPusherBytes)
		if err := moves.Add(p, err); err != nil {
			return ingest.Delivery{}, err
		}
	}
	return moves.Complete(b.Repository.completeDelivery(ingest.Delivery{Outcome: ingest.Pushed, Repository: r}))
}

// completeDelivery returns d with what the payload says of the repository beyond its description.
func (r *repository) completeDelivery(d ingest.Delivery) ingest.Delivery {
	d.Identity, d.OmitsPrivate = fmt.Sprint(r.ID), r.Public == nil
	return d
}

func (t *Translator) repository(field string, r *repository) (code.Repository, error) {
	if r == nil || r.ID <= 0 || r.Slug == "" || r.Project.Key == "" {
		return code.Repository{}, fmt.Errorf("%w: %s.id, %[2]s.slug and %[2]s.project.key are required", ingest.ErrInvalidPayload, field)
	}
	clone, err := t.cloneURL(field, r)
	if err != nil {
		return code.Repository{}, err
	}
	return code.Repository{
		ID:          code.NewRepositoryID(t.host.Name, fmt.Sprint(r.ID)),
		Kind:        code.BitbucketServer,
		Name:        t.host.Name + "/" + r.Project.Key + "/" + r.Slug,
		DisplayName: r.Project.Key + "/" + r.Slug,
		CloneURL:    clone,
		WebURL:      t.webURL(r),
		Description: code.KeepDescription(r.Description),
		Fork:        r.Origin != nil,
		Archived:    r.Archived != nil && *r.Archived,
		Private:     r.Public == nil || !*r.Public,
	}, nil
}

// cloneURL returns the HTTP clone link. Servers before 5.8 send none; the URL is then
// derived from the project.
func (t *Translator) cloneURL(field string, r *repository) (string, error) {
	for _, link := range r.Links.Clone {
		if link.Name == "http" || link.Name == "https" {
			_, err := t.host.CheckCloneURL(field+".links.clone", link.Href)
			return link.Href, err
		}
	}
	return t.host.ProjectURL(field, "scm/"+strings.ToLower(r.Project.Key)+"/"+r.Slug+".git")
}

// webURL returns the page of a repository of a project, or of a user, whose key begins
// with ~.
func (t *Translator) webURL(r *repository) string {
	if user, personal := strings.CutPrefix(r.Project.Key, "~"); personal {
		return t.host.Base + "/users/" + strings.ToLower(user) + "/repos/" + r.Slug
	}
	return t.host.Base + "/projects/" + r.Project.Key + "/repos/" + r.Slug
}
