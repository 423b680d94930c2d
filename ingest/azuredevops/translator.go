package azuredevops

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// DefaultURL is the host of a connection without a URL.
const DefaultURL = "https://dev.azure.com"

// Translator translates the deliveries of one Azure DevOps connection.
type Translator struct {
	host    ingest.Host
	secrets [][]byte
}

var _ ingest.Translator = (*Translator)(nil)

// Open implements ingest.Open for Azure DevOps.
func Open(c ingest.Connection) (ingest.Translator, error) {
	host, err := ingest.ParseHost(c, DefaultURL)
	if err != nil {
		return nil, err
	}
	secrets, err := ingest.ParseSecrets(c, "set user:password of the service hook")
	if err != nil {
		return nil, err
	}
	return &Translator{host: host, secrets: secrets}, nil
}

// Verify implements ingest.Translator.
func (t *Translator) Verify(r *ingest.Request) error {
	var err error
	if user, password, ok := (&http.Request{Header: r.Header}).BasicAuth(); ok {
		err = signature.Basic(user, password, t.secrets...)
	} else {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		err = signature.Token(token, t.secrets...)
	}
	if err != nil {
		return fmt.Errorf("%w: Authorization: %w", ingest.ErrUnauthenticated, err)
	}
	return nil
}

// DeliveryID implements ingest.Translator. It returns nothing: the ID is in the body,
// which is not parsed before it is verified.
func (t *Translator) DeliveryID(*ingest.Request) string { return "" }

// body holds the fields that are read from events.
type body struct {
	ID        string    `json:"id"`
	EventType string    `json:"eventType"`
	Resource  *resource `json:"resource"`
}

type resource struct {
	RefUpdates []struct {
		Name        string `json:"name"`
		OldObjectID string `json:"oldObjectId"`
		NewObjectID string `json:"newObjectId"`
	} `json:"refUpdates"`
	Repository *repository `json:"repository"`
	PushedBy   struct {
		UniqueName string `json:"uniqueName"`
	} `json:"pushedBy"`
	Date time.Time `json:"date"`
}

type repository struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	RemoteURL     string `json:"remoteUrl"`
	DefaultBranch string `json:"defaultBranch"`
	Fork          *bool  `json:"isFork"`
	Disabled      *bool  `json:"isDisabled"`
	Project       struct {
		Name       string `json:"name"`
		Visibility string `json:"visibility"`
	} `json:"project"`
}

// Translate implements ingest.Translator.
func (t *Translator) Translate(r *ingest.Request) (ingest.Delivery, error) {
	var b body
	if err := ingest.DecodeJSON(r.Body, &b); err != nil {
		return ingest.Delivery{}, err
	}
	d, err := t.translate(&b)
	d.ID = b.ID
	return d, err
}

func (t *Translator) translate(b *body) (ingest.Delivery, error) {
	switch b.EventType {
	case "git.push", "git.repo.renamed", "git.repo.statuschanged", "git.repo.deleted":
	case "":
		return ingest.Delivery{}, fmt.Errorf("%w: eventType is missing", ingest.ErrInvalidPayload)
	default:
		return ingest.IgnoreKind(b.EventType), nil
	}
	if b.Resource == nil || b.Resource.Repository == nil {
		return ingest.Delivery{}, fmt.Errorf("%w: resource.repository is missing: set \"Resource details to send\" of the service hook to All", ingest.ErrInvalidPayload)
	}
	r, err := t.repository(b.Resource.Repository)
	if err != nil {
		return ingest.Delivery{}, err
	}
	switch b.EventType {
	case "git.repo.renamed", "git.repo.statuschanged":
		return b.Resource.Repository.completeDelivery(ingest.Delivery{Outcome: ingest.Changed, Repository: r}), nil
	case "git.repo.deleted":
		return b.Resource.Repository.completeDelivery(ingest.Delivery{Outcome: ingest.Removed, Repository: r, Reason: "deleted on its host"}), nil
	}
	return translatePush(b.Resource, r)
}

func translatePush(in *resource, r code.Repository) (ingest.Delivery, error) {
	if len(in.RefUpdates) == 0 || len(in.RefUpdates) > ingest.MaxPushes {
		return ingest.Delivery{}, fmt.Errorf("%w: resource.refUpdates: want 1 to %d, have %d", ingest.ErrInvalidPayload, ingest.MaxPushes, len(in.RefUpdates))
	}
	var moves ingest.Moves
	for i, u := range in.RefUpdates {
		if u.OldObjectID == "" || u.NewObjectID == "" {
			return ingest.Delivery{}, fmt.Errorf("%w: resource.refUpdates[%d]: oldObjectId and newObjectId are required", ingest.ErrInvalidPayload, i)
		}
		p, err := ingest.Move(u.Name, u.OldObjectID, u.NewObjectID)
		p.HostTime, p.Pusher = in.Date.UTC(), ingest.Text(in.PushedBy.UniqueName, event.MaxPusherBytes)
		if err := moves.Add(p, err); err != nil {
			return ingest.Delivery{}, err
		}
	}
	return moves.Complete(in.Repository.completeDelivery(ingest.Delivery{Outcome: ingest.Pushed, Repository: r}))
}

// completeDelivery returns d with what the payload says of the repository beyond its description.
func (r *repository) completeDelivery(d ingest.Delivery) ingest.Delivery {
	d.Identity, d.OmitsPrivate = r.ID, r.Project.Visibility == ""
	return d
}

func (t *Translator) repository(r *repository) (code.Repository, error) {
	if r.ID == "" || r.Name == "" || r.Project.Name == "" {
		return code.Repository{}, fmt.Errorf("%w: id, name and project.name of resource.repository are required", ingest.ErrInvalidPayload)
	}
	clone, err := withoutUser(r.RemoteURL)
	if err != nil {
		return code.Repository{}, err
	}
	if _, err := t.host.CheckCloneURL("resource.repository.remoteUrl", clone); err != nil {
		return code.Repository{}, err
	}
	display := r.Project.Name + "/" + r.Name
	return code.Repository{
		ID:            code.NewRepositoryID(t.host.Name, r.ID),
		Kind:          code.AzureDevOps,
		Name:          t.host.Name + "/" + display,
		DisplayName:   display,
		CloneURL:      clone,
		WebURL:        clone,
		DefaultBranch: strings.TrimPrefix(r.DefaultBranch, "refs/heads/"),
		Fork:          r.Fork != nil && *r.Fork,
		Archived:      r.Disabled != nil && *r.Disabled,
		Private:       r.Project.Visibility != "public",
	}, nil
}

// withoutUser removes the organization name that clone URLs of the service contain in
// place of a user.
func withoutUser(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("%w: resource.repository.remoteUrl does not parse", ingest.ErrInvalidPayload)
	}
	u.User = nil
	return u.String(), nil
}
