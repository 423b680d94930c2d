package generic

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Translator translates the deliveries of one plain git connection.
type Translator struct {
	host         string // the host that clone URLs must be on; empty allows any
	secrets      [][]byte
	tokens       [][]byte // nil unless the connection allows tokens
	repositories map[string]code.Repository
}

var _ ingest.Translator = (*Translator)(nil)

// Open implements ingest.Open for genericGitHost.
func Open(c ingest.Connection) (ingest.Translator, error) {
	t := &Translator{repositories: make(map[string]code.Repository, len(c.Repositories))}
	if err := t.setHost(c.URL); err != nil {
		return nil, fmt.Errorf("connection %s: %w", c.Name, err)
	}
	if len(c.Secrets) == 0 {
		return nil, fmt.Errorf("connection %s: no secret: make one with: echo whsec_$(openssl rand -base64 32)", c.Name)
	}
	for i, s := range c.Secrets {
		key, err := signature.ParseSecret(s)
		if err != nil {
			return nil, fmt.Errorf("connection %s: secret %d: %w", c.Name, i+1, err)
		}
		t.secrets = append(t.secrets, key)
		if c.AllowToken {
			t.tokens = append(t.tokens, []byte(s))
		}
	}
	for name, cloneURL := range c.Repositories {
		r, err := repositoryFromURL(cloneURL)
		if err != nil {
			return nil, fmt.Errorf("connection %s: repository %s: %w", c.Name, name, err)
		}
		r.Name = name
		t.repositories[name] = r
	}
	return t, nil
}

func (t *Translator) setHost(base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return fmt.Errorf("url %.80q: want the base URL of the git server, or nothing", base)
	}
	t.host = strings.ToLower(u.Host)
	return nil
}

// Verify implements ingest.Translator.
func (t *Translator) Verify(r *ingest.Request) error {
	if token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); found && t.tokens != nil {
		if err := signature.Token(strings.TrimSpace(token), t.tokens...); err != nil {
			return fmt.Errorf("%w: bearer token: %w", ingest.ErrUnauthenticated, err)
		}
		return nil
	}
	s := signature.Standard{
		ID:        r.Header.Get(signature.HeaderID),
		Timestamp: r.Header.Get(signature.HeaderTimestamp),
		Signature: r.Header.Get(signature.HeaderSignature),
	}
	if err := s.Verify(r.Body, r.ReceivedAt, t.secrets...); err != nil {
		return fmt.Errorf("%w: %s: %w", ingest.ErrUnauthenticated, signature.HeaderSignature, err)
	}
	return nil
}

// DeliveryID implements ingest.Translator.
func (t *Translator) DeliveryID(r *ingest.Request) string { return r.Header.Get(signature.HeaderID) }

// Translate implements ingest.Translator.
func (t *Translator) Translate(r *ingest.Request) (ingest.Delivery, error) {
	d, err := t.translatePayload(r.Body)
	d.ID, d.OmitsPrivate = t.DeliveryID(r), true
	return d, err
}

// resolveRepository resolves the name or URL of a repository in a payload.
func (t *Translator) resolveRepository(s string) (code.Repository, error) {
	if r, ok := t.repositories[s]; ok {
		return r, nil
	}
	if s == "" || len(s) > code.MaxURLBytes {
		return code.Repository{}, fmt.Errorf("%w: repository: want a clone URL or a name", ingest.ErrInvalidPayload)
	}
	// Only a value that looks like an address is treated as one; a name goes to the
	// receiver, which looks it up in the catalog.
	if !strings.Contains(s, ":") && !strings.HasPrefix(s, "/") {
		return code.Repository{Kind: code.GenericGitHost, Name: s}, nil
	}
	r, err := repositoryFromURL(s)
	if err != nil {
		return code.Repository{}, fmt.Errorf("%w: repository: %w", ingest.ErrInvalidPayload, err)
	}
	if clone, _ := code.ParseCloneURL(s); t.host != "" && clone.Host != t.host {
		return code.Repository{}, fmt.Errorf("%w: repository is on host %.80q, the connection is for %q", ingest.ErrInvalidPayload, clone.Host, t.host)
	}
	return r, nil
}

// onlyRepository returns the connection's repository if it has exactly one.
func (t *Translator) onlyRepository() (code.Repository, error) {
	if len(t.repositories) == 1 {
		for _, r := range t.repositories {
			return r, nil
		}
	}
	return code.Repository{}, fmt.Errorf("%w: repository is required: the connection has %d configured, an empty body needs exactly one",
		ingest.ErrInvalidPayload, len(t.repositories))
}

func repositoryFromURL(s string) (code.Repository, error) {
	clone, err := code.ParseCloneURL(s)
	if err != nil {
		return code.Repository{}, err
	}
	return code.Repository{ID: clone.RepositoryID(), Kind: code.GenericGitHost, Name: clone.Name(), CloneURL: s}, nil
}
