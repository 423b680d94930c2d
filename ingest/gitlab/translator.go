package gitlab

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Headers of a delivery.
const (
	headerEvent = "X-Gitlab-Event"
	headerToken = "X-Gitlab-Token" //nolint:gosec // the name of a header
	headerKey   = "Idempotency-Key"
	headerUUID  = "X-Gitlab-Event-UUID"
)

// DefaultURL is the host of a connection without a URL.
const DefaultURL = "https://gitlab.com"

// signingPrefix is the prefix of signing tokens.
const signingPrefix = "whsec_"

// public is the visibility level of a public project.
const public = 20

// Translator translates the deliveries of one GitLab connection.
type Translator struct {
	host          ingest.Host
	web           string // base URL of pages, empty if the host's payloads have theirs
	tokens, signs [][]byte
}

var _ ingest.Translator = (*Translator)(nil)

// Open implements ingest.Open for GitLab.
func Open(c ingest.Connection) (ingest.Translator, error) {
	host, err := ingest.ParseHost(c, DefaultURL)
	if err != nil {
		return nil, err
	}
	secrets, err := ingest.ParseSecrets(c, "set the secret token or signing token of the webhook")
	if err != nil {
		return nil, err
	}
	t := &Translator{host: host, web: c.WebURL}
	for i, secret := range secrets {
		if !strings.HasPrefix(string(secret), signingPrefix) {
			t.tokens = append(t.tokens, secret)
			continue
		}
		key, err := signature.ParseSecret(string(secret))
		if err != nil {
			return nil, fmt.Errorf("connection %s: secret %d: %w", c.Name, i+1, err)
		}
		t.signs = append(t.signs, key)
	}
	return t, nil
}

// Verify implements ingest.Translator. It checks the signature if the connection has a
// signing token, and the secret token otherwise.
func (t *Translator) Verify(r *ingest.Request) error {
	if len(t.signs) > 0 && (len(t.tokens) == 0 || r.Header.Get(signature.HeaderSignature) != "") {
		s := signature.Standard{
			ID:        r.Header.Get(signature.HeaderID),
			Timestamp: r.Header.Get(signature.HeaderTimestamp),
			Signature: r.Header.Get(signature.HeaderSignature),
		}
		if err := s.Verify(r.Body, r.ReceivedAt, t.signs...); err != nil {
			return fmt.Errorf("%w: %s: %w", ingest.ErrUnauthenticated, signature.HeaderSignature, err)
		}
		return nil
	}
	if err := signature.Token(r.Header.Get(headerToken), t.tokens...); err != nil {
		return fmt.Errorf("%w: %s: %w", ingest.ErrUnauthenticated, headerToken, err)
	}
	return nil
}

// DeliveryID implements ingest.Translator. The key stays the same when a delivery is
// resent.
func (t *Translator) DeliveryID(r *ingest.Request) string {
	return cmp.Or(r.Header.Get(headerKey), r.Header.Get(signature.HeaderID), r.Header.Get(headerUUID))
}

// body holds the fields that are read from payloads.
type body struct {
	ObjectKind string   `json:"object_kind"`
	EventName  string   `json:"event_name"`
	Ref        string   `json:"ref"`
	Before     string   `json:"before"`
	After      string   `json:"after"`
	Username   string   `json:"user_username"`
	Project    *project `json:"project"`
	Changes    []struct {
		Before string `json:"before"`
		After  string `json:"after"`
		Ref    string `json:"ref"`
	} `json:"changes"`

	// For system hooks about a project.
	ProjectID  int64  `json:"project_id"`
	Path       string `json:"path_with_namespace"`
	Visibility string `json:"project_visibility"`
	UserID     int64  `json:"user_id"` // of system hooks about members
}

type project struct {
	ID            int64  `json:"id"`
	Path          string `json:"path_with_namespace"`
	HTTPURL       string `json:"git_http_url"`
	WebURL        string `json:"web_url"`
	AvatarURL     string `json:"avatar_url"`
	Description   string `json:"description"`
	DefaultBranch string `json:"default_branch"`
	Visibility    *int   `json:"visibility_level"`
}

// Translate implements ingest.Translator.
func (t *Translator) Translate(r *ingest.Request) (ingest.Delivery, error) {
	d, err := t.translate(r.Header.Get(headerEvent), r.Body)
	d.ID = t.DeliveryID(r)
	return d, err
}

func (t *Translator) translate(header string, payload []byte) (ingest.Delivery, error) {
	switch header {
	case "Push Hook", "Tag Push Hook", "System Hook", "Member Hook":
	case "":
		return ingest.Delivery{}, fmt.Errorf("%w: header %s is missing", ingest.ErrInvalidPayload, headerEvent)
	default:
		return ingest.IgnoreEvent(header, payload)
	}
	var b body
	if err := ingest.DecodeJSON(payload, &b); err != nil {
		return ingest.Delivery{}, err
	}
	switch name := cmp.Or(b.EventName, b.ObjectKind); name {
	case "push", "tag_push":
		return t.translatePush(&b)
	case "repository_update":
		return t.translateUpdate(&b)
	case "project_rename", "project_transfer", "project_update":
		r, err := t.projectOf(&b)
		return ingest.Delivery{Outcome: ingest.Changed, Repository: r, Identity: fmt.Sprint(b.ProjectID), OmitsPrivate: b.Visibility == ""}, err
	case "project_destroy":
		r, err := t.projectOf(&b)
		return ingest.Delivery{Outcome: ingest.Removed, Repository: r, Identity: fmt.Sprint(b.ProjectID), OmitsPrivate: b.Visibility == "", Reason: "deleted on its host"}, err
	case "user_add_to_team", "user_remove_from_team", "user_update_for_team":
		d := ingest.IgnoreKind(name)
		if b.ProjectID <= 0 {
			return ingest.Delivery{}, fmt.Errorf("%w: project_id is required", ingest.ErrInvalidPayload)
		}
		d.Outcome, d.Repository.ID = ingest.AccessChanged, code.NewRepositoryID(t.host.Name, fmt.Sprint(b.ProjectID))
		d.RemovedUser = b.removedUserID(name)
		return d, nil
	case "user_add_to_group", "user_remove_from_group", "user_update_for_group", "user_destroy", "group_destroy":
		d := ingest.IgnoreKind(name)
		d.Outcome, d.RemovedUser = ingest.AccessChanged, b.removedUserID(name)
		return d, nil
	default:
		return ingest.IgnoreKind(name), nil
	}
}

// removedUserID returns the ID of the user who lost access by an event, or an empty string.
func (b *body) removedUserID(event string) string {
	switch event {
	case "user_remove_from_team", "user_remove_from_group", "user_destroy":
		if b.UserID > 0 {
			return fmt.Sprint(b.UserID)
		}
	}
	return ""
}

// projectID returns the ID of the project of a push; older versions send only project_id.
func (b *body) projectID() int64 { return cmp.Or(b.Project.ID, b.ProjectID) }

func (t *Translator) translatePush(b *body) (ingest.Delivery, error) {
	r, err := t.convertProject(b)
	if err != nil {
		return ingest.Delivery{}, err
	}
	if b.Before == "" || b.After == "" {
		return ingest.Delivery{}, fmt.Errorf("%w: before and after are required", ingest.ErrInvalidPayload)
	}
	p, err := ingest.Move(b.Ref, b.Before, b.After)
	p.Pusher = ingest.Text(b.Username, event.MaxPusherBytes)
	var moves ingest.Moves
	if err := moves.Add(p, err); err != nil {
		return ingest.Delivery{}, err
	}
	return moves.Complete(b.newDelivery(r))
}

// translateUpdate translates a system hook that lists all refs of one push.
func (t *Translator) translateUpdate(b *body) (ingest.Delivery, error) {
	r, err := t.convertProject(b)
	if err != nil {
		return ingest.Delivery{}, err
	}
	if len(b.Changes) == 0 || len(b.Changes) > ingest.MaxPushes {
		return ingest.Delivery{}, fmt.Errorf("%w: changes: want 1 to %d, have %d", ingest.ErrInvalidPayload, ingest.MaxPushes, len(b.Changes))
	}
	var moves ingest.Moves
	for i, c := range b.Changes {
		if c.Before == "" || c.After == "" {
			return ingest.Delivery{}, fmt.Errorf("%w: changes[%d]: before and after are required", ingest.ErrInvalidPayload, i)
		}
		if err := moves.Add(ingest.Move(c.Ref, c.Before, c.After)); err != nil {
			return ingest.Delivery{}, err
		}
	}
	return moves.Complete(b.newDelivery(r))
}

func (b *body) newDelivery(r code.Repository) ingest.Delivery {
	return ingest.Delivery{Outcome: ingest.Pushed, Repository: r, Identity: fmt.Sprint(b.projectID()), OmitsPrivate: b.Project.Visibility == nil}
}

// convertProject returns the project of a push.
func (t *Translator) convertProject(b *body) (code.Repository, error) {
	p := b.Project
	if p == nil || p.Path == "" {
		return code.Repository{}, fmt.Errorf("%w: project.path_with_namespace is required", ingest.ErrInvalidPayload)
	}
	id := b.projectID()
	if id <= 0 {
		return code.Repository{}, fmt.Errorf("%w: project.id is required", ingest.ErrInvalidPayload)
	}
	if _, err := t.host.CheckCloneURL("project.git_http_url", p.HTTPURL); err != nil {
		return code.Repository{}, err
	}
	return code.Repository{
		ID:            code.NewRepositoryID(t.host.Name, fmt.Sprint(id)),
		Kind:          code.GitLab,
		Name:          t.host.Name + "/" + p.Path,
		DisplayName:   p.Path,
		CloneURL:      p.HTTPURL,
		WebURL:        code.ResolvePageURL(t.web, p.Path, t.host.PageURL(p.WebURL)),
		ImageURL:      code.KeepImageURL(p.AvatarURL),
		Description:   code.KeepDescription(p.Description),
		DefaultBranch: p.DefaultBranch,
		Private:       p.Visibility == nil || *p.Visibility != public,
	}, nil
}

// projectOf returns the project of a system hook that contains no URLs.
func (t *Translator) projectOf(b *body) (code.Repository, error) {
	if b.ProjectID <= 0 {
		return code.Repository{}, fmt.Errorf("%w: project_id is required", ingest.ErrInvalidPayload)
	}
	web, err := t.host.ProjectURL("path_with_namespace", b.Path)
	if err != nil {
		return code.Repository{}, err
	}
	return code.Repository{
		ID: code.NewRepositoryID(t.host.Name, fmt.Sprint(b.ProjectID)), Kind: code.GitLab,
		Name: t.host.Name + "/" + b.Path, DisplayName: b.Path, CloneURL: web + ".git", WebURL: code.ResolvePageURL(t.web, b.Path, web),
		Private: !strings.EqualFold(b.Visibility, "public"),
	}, nil
}
