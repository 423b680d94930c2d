package github

import (
	"fmt"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Headers of a delivery.
const (
	headerEvent     = "X-GitHub-Event"
	headerDelivery  = "X-GitHub-Delivery"
	headerSignature = "X-Hub-Signature-256"
)

// DefaultURL is the host of a connection without a URL.
const DefaultURL = "https://github.com"

// Translator translates the deliveries of one GitHub connection.
type Translator struct {
	host    ingest.Host
	secrets [][]byte
}

var _ ingest.Translator = (*Translator)(nil)

// Open implements ingest.Open for GitHub.
func Open(c ingest.Connection) (ingest.Translator, error) {
	host, err := ingest.ParseHost(c, DefaultURL)
	if err != nil {
		return nil, err
	}
	secrets, err := ingest.ParseSecrets(c, "set the one configured for the hook at GitHub")
	if err != nil {
		return nil, err
	}
	return &Translator{host: host, secrets: secrets}, nil
}

// Verify implements ingest.Translator.
func (t *Translator) Verify(r *ingest.Request) error {
	err := signature.HMAC(r.Header.Get(headerSignature), signature.GitHubPrefix, r.Body, t.secrets...)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ingest.ErrUnauthenticated, headerSignature, err)
	}
	return nil
}

// DeliveryID implements ingest.Translator.
func (t *Translator) DeliveryID(r *ingest.Request) string { return r.Header.Get(headerDelivery) }

// Translate implements ingest.Translator.
func (t *Translator) Translate(r *ingest.Request) (ingest.Delivery, error) {
	body, err := ingest.FormPayload(r.Header, r.Body)
	if err != nil {
		return ingest.Delivery{}, err
	}
	d, err := Translate(t.host, r.Header.Get(headerEvent), body)
	d.ID = t.DeliveryID(r)
	return d, err
}

// toRepository converts the repository of a payload to a code.Repository.
func toRepository(host ingest.Host, r *repository) (code.Repository, error) {
	if r == nil || r.ID <= 0 || r.FullName == "" {
		return code.Repository{}, fmt.Errorf("%w: repository.id and repository.full_name are required", ingest.ErrInvalidPayload)
	}
	if _, err := host.CheckCloneURL("repository.clone_url", r.CloneURL); err != nil {
		return code.Repository{}, err
	}
	return code.Repository{
		ID:            code.NewRepositoryID(host.Address, fmt.Sprint(r.ID)),
		Kind:          code.GitHub,
		Name:          host.Name + "/" + r.FullName,
		DisplayName:   r.FullName,
		CloneURL:      r.CloneURL,
		WebURL:        host.PageURL(r.HTMLURL),
		ImageURL:      code.KeepImageURL(r.Owner.AvatarURL),
		Description:   code.KeepDescription(r.Description),
		DefaultBranch: r.DefaultBranch,
		Fork:          r.Fork != nil && *r.Fork,
		Archived:      r.Archived != nil && *r.Archived,
		Private:       r.Private == nil || *r.Private, // private unless stated otherwise
	}, nil
}
