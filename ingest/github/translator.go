package github

import (
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

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

// DefaultURL is the host of a connection that names none.
const DefaultURL = "https://github.com"

// Translator reads the deliveries of one GitHub connection.
type Translator struct {
	host    string
	secrets [][]byte
}

var _ ingest.Translator = (*Translator)(nil)

// Open is the ingest.Open of GitHub.
func Open(c ingest.Connection) (ingest.Translator, error) {
	base := c.URL
	if base == "" {
		base = DefaultURL
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("connection %s: url %.80q: want the base URL of a GitHub host", c.Name, c.URL)
	}
	if len(c.Secrets) == 0 {
		return nil, fmt.Errorf("connection %s: no secret: set the one configured for the hook at GitHub", c.Name)
	}
	t := &Translator{host: strings.ToLower(u.Host)}
	for i, secret := range c.Secrets {
		if secret == "" {
			return nil, fmt.Errorf("connection %s: secret %d is empty", c.Name, i+1)
		}
		t.secrets = append(t.secrets, []byte(secret))
	}
	return t, nil
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
	body, err := payload(r.Header, r.Body)
	if err != nil {
		return ingest.Delivery{}, err
	}
	d, err := Translate(t.host, r.Header.Get(headerEvent), body)
	d.ID = t.DeliveryID(r)
	return d, err
}

// payload returns the JSON of a delivery: the body, or the field payload of a
// hook that is set to send forms.
func payload(h http.Header, body []byte) ([]byte, error) {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || media != "application/x-www-form-urlencoded" {
		return body, nil
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fmt.Errorf("%w: the form does not parse", ingest.ErrInvalidPayload)
	}
	return []byte(form.Get("payload")), nil
}

// identity is the repository of a payload in our words.
func identity(host string, r *repository) (code.Repository, error) {
	if r == nil || r.ID <= 0 || r.FullName == "" {
		return code.Repository{}, fmt.Errorf("%w: repository.id and repository.full_name are required", ingest.ErrInvalidPayload)
	}
	clone, err := code.ParseCloneURL(r.CloneURL)
	if err != nil {
		return code.Repository{}, fmt.Errorf("%w: repository.clone_url: %w", ingest.ErrInvalidPayload, err)
	}
	if clone.Host != host {
		return code.Repository{}, fmt.Errorf("%w: repository.clone_url is on host %.80q, the connection is for %q", ingest.ErrInvalidPayload, clone.Host, host)
	}
	return code.Repository{
		ID:            code.NewRepositoryID(host, fmt.Sprint(r.ID)),
		Kind:          code.GitHub,
		Name:          host + "/" + r.FullName,
		DisplayName:   r.FullName,
		CloneURL:      r.CloneURL,
		WebURL:        onHost(r.HTMLURL, host),
		ImageURL:      r.Owner.AvatarURL,
		DefaultBranch: r.DefaultBranch,
		Fork:          r.Fork,
		Archived:      r.Archived,
		Private:       r.Private,
	}, nil
}

// onHost returns s if it is an http(s) URL on host, and nothing otherwise: it
// becomes a link in pages.
func onHost(s, host string) string {
	u, err := url.Parse(s)
	if err != nil || !strings.EqualFold(u.Host, host) || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return s
}
