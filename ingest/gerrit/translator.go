package gerrit

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// queryToken is the URL parameter that holds the secret.
const queryToken = "token"

// Translator translates the deliveries of one Gerrit connection.
type Translator struct {
	host ingest.Host
	// secrets and addresses authenticate a delivery: it must match one element of each
	// list that is not empty. At least one of the lists is not empty.
	secrets   [][]byte
	addresses []netip.Prefix
}

var _ ingest.Translator = (*Translator)(nil)

// Open implements ingest.Open for Gerrit.
func Open(c ingest.Connection) (ingest.Translator, error) {
	host, err := ingest.ParseHost(c, "")
	if err != nil {
		return nil, err
	}
	t := &Translator{host: host, addresses: c.Addresses}
	if len(c.Secrets) == 0 && len(c.Addresses) > 0 {
		return t, nil
	}
	t.secrets, err = ingest.ParseSecrets(c, "make one, and end the URL in webhooks.config with ?token=SECRET; or set addresses")
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Verify implements ingest.Translator.
func (t *Translator) Verify(r *ingest.Request) error {
	if len(t.addresses) > 0 && !slices.ContainsFunc(t.addresses, func(p netip.Prefix) bool { return p.Contains(r.Client) }) {
		return fmt.Errorf("%w: the sender's address %s is not in addresses of the connection", ingest.ErrUnauthenticated, r.Client)
	}
	if len(t.secrets) == 0 {
		return nil
	}
	if err := signature.Token(r.Query.Get(queryToken), t.secrets...); err != nil {
		return fmt.Errorf("%w: parameter %s of the URL: %w", ingest.ErrUnauthenticated, queryToken, err)
	}
	return nil
}

// DeliveryID implements ingest.Translator. It returns nothing: Gerrit sends no ID.
func (t *Translator) DeliveryID(*ingest.Request) string { return "" }

// body holds the fields that are read from events.
type body struct {
	Type      string `json:"type"`
	Submitter struct {
		Username string `json:"username"`
	} `json:"submitter"`
	RefUpdate      *refUpdate  `json:"refUpdate"`
	RefUpdates     []refUpdate `json:"refUpdates"`
	EventCreatedOn int64       `json:"eventCreatedOn"`

	ProjectName string `json:"projectName"`
	NewHead     string `json:"newHead"`
}

type refUpdate struct {
	OldRev  string `json:"oldRev"`
	NewRev  string `json:"newRev"`
	RefName string `json:"refName"`
	Project string `json:"project"`
}

// Translate implements ingest.Translator. The delivery is identified by its content,
// which stays the same when the plugin retries.
func (t *Translator) Translate(r *ingest.Request) (ingest.Delivery, error) {
	d, err := t.translate(r.Body)
	d.ID = ingest.BodyID("gerrit_", r.Body)
	return d, err
}

func (t *Translator) translate(payload []byte) (ingest.Delivery, error) {
	var b body
	if err := ingest.DecodeJSON(payload, &b); err != nil {
		return ingest.Delivery{}, err
	}
	switch b.Type {
	case "":
		return ingest.Delivery{}, fmt.Errorf("%w: type is missing", ingest.ErrInvalidPayload)
	case "ref-updated":
		if b.RefUpdate == nil {
			return ingest.Delivery{}, fmt.Errorf("%w: refUpdate is missing", ingest.ErrInvalidPayload)
		}
		return t.translateRefs(&b, []refUpdate{*b.RefUpdate})
	case "batch-ref-updated":
		if len(b.RefUpdates) == 0 || len(b.RefUpdates) > ingest.MaxPushes {
			return ingest.Delivery{}, fmt.Errorf("%w: refUpdates: want 1 to %d, have %d", ingest.ErrInvalidPayload, ingest.MaxPushes, len(b.RefUpdates))
		}
		return t.translateRefs(&b, b.RefUpdates)
	case "project-head-updated":
		r, err := t.repository(b.ProjectName)
		r.DefaultBranch = strings.TrimPrefix(b.NewHead, "refs/heads/")
		return ingest.Delivery{Outcome: ingest.Changed, Repository: r, Identity: b.ProjectName, OmitsPrivate: true}, err
	}
	return ingest.IgnoreKind(b.Type), nil
}

func (t *Translator) translateRefs(b *body, updates []refUpdate) (ingest.Delivery, error) {
	r, err := t.repository(updates[0].Project)
	if err != nil {
		return ingest.Delivery{}, err
	}
	var moves ingest.Moves
	moved := false
	for _, u := range updates {
		if u.Project != updates[0].Project {
			return ingest.Delivery{}, fmt.Errorf("%w: the refs are of more than one project", ingest.ErrInvalidPayload)
		}
		ref := u.RefName
		if !strings.HasPrefix(ref, "refs/") { // versions before 2.12 send short names
			ref = ingest.FullRef("branch", ref)
		}
		if !strings.HasPrefix(ref, "refs/heads/") && !strings.HasPrefix(ref, "refs/tags/") {
			continue
		}
		if u.OldRev == "" || u.NewRev == "" {
			return ingest.Delivery{}, fmt.Errorf("%w: oldRev and newRev are required", ingest.ErrInvalidPayload)
		}
		p, err := ingest.Move(ref, u.OldRev, u.NewRev)
		if b.EventCreatedOn > 0 {
			p.HostTime = time.Unix(b.EventCreatedOn, 0).UTC()
		}
		p.Pusher = ingest.Text(b.Submitter.Username, event.MaxPusherBytes)
		if err := moves.Add(p, err); err != nil {
			return ingest.Delivery{}, err
		}
		moved = true
	}
	if !moved {
		d := ingest.Ignore(fmt.Sprintf("ref %.80q is neither a branch nor a tag", updates[0].RefName))
		d.Repository = r
		return d, nil
	}
	return moves.Complete(ingest.Delivery{Outcome: ingest.Pushed, Repository: r, Identity: updates[0].Project, OmitsPrivate: true})
}

func (t *Translator) repository(project string) (code.Repository, error) {
	clone, err := t.host.ProjectURL("project", project)
	if err != nil {
		return code.Repository{}, err
	}
	// Links lead to the pages for people, not to those under /a/, which require a
	// password.
	web, name := strings.TrimSuffix(t.host.Base, "/a"), strings.TrimSuffix(t.host.Name, "/a")
	return code.Repository{
		ID: code.NewRepositoryID(name, project), Kind: code.Gerrit,
		Name: name + "/" + project, DisplayName: project,
		CloneURL: clone, WebURL: web + "/plugins/gitiles/" + project, Private: true,
	}, nil
}
