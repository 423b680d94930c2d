package github

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
)

const (
	// renewBefore is how long before its expiry a token is replaced. GitHub's tokens are
	// valid for an hour.
	renewBefore = 5 * time.Minute
	// assertionTTL is below GitHub's limit of ten minutes; assertionSkew allows for clock
	// differences.
	assertionTTL  = 8 * time.Minute
	assertionSkew = time.Minute
)

// Installation holds the token of an installation of a GitHub App.
type Installation struct {
	app discovery.App
	key *rsa.PrivateKey
	api hostapi.JSON
	now func() time.Time

	mu struct {
		sync.Mutex
		id    int64
		token string
		ends  time.Time
	}
}

func newInstallation(c discovery.Connection, base string, client *http.Client) (*Installation, error) {
	key, err := parseKey(c.App.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("connection %s: app.privateKey: %w", c.Name, err)
	}
	i := &Installation{app: c.App, key: key, now: time.Now}
	i.mu.id = c.App.Installation
	i.api = hostapi.JSON{Base: base, Client: hostapi.Authorize(client, hostOf(base), "Authorization", func(context.Context) (string, error) {
		assertion, err := i.signAssertion()
		return "Bearer " + assertion, err
	})}
	return i, nil
}

// parseKey parses an RSA key from PEM, in GitHub's format or PKCS 8. Errors contain
// nothing of it.
func parseKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("it is no PEM")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(*rsa.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("it is no RSA private key")
	}
	return key, nil
}

// signAssertion returns a JSON Web Token that identifies the app.
func (i *Installation) signAssertion() (string, error) {
	now := i.now()
	claims, err := json.Marshal(map[string]any{"iat": now.Add(-assertionSkew).Unix(), "exp": now.Add(assertionTTL).Unix(), "iss": fmt.Sprint(i.app.ID)})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	return signed + "." + encode(signature), err
}

// OpenInstallation returns the installation of a connection with a GitHub App.
func OpenInstallation(c discovery.Connection, client *http.Client) (*Installation, error) {
	host, err := discovery.ParseHost(c, DefaultURL)
	if err != nil {
		return nil, err
	}
	return newInstallation(c, APIURL(host), client)
}

// readAuthorization returns the Authorization header of requests.
func (i *Installation) readAuthorization(ctx context.Context) (string, error) {
	token, err := i.Token(ctx)
	return "Bearer " + token, err
}

// Token returns a token that is valid for at least renewBefore, for the API and for git.
func (i *Installation) Token(ctx context.Context) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.mu.token != "" && i.now().Add(renewBefore).Before(i.mu.ends) {
		return i.mu.token, nil
	}
	if err := i.findIDLocked(ctx); err != nil {
		return "", err
	}
	var token struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
	}
	if err := i.api.Do(ctx, http.MethodPost, fmt.Sprintf("app/installations/%d/access_tokens", i.mu.id), nil, nil, &token); err != nil {
		return "", fmt.Errorf("token of installation %d: %w", i.mu.id, err)
	}
	if token.Token == "" {
		return "", fmt.Errorf("token of installation %d: GitHub gave none", i.mu.id)
	}
	i.mu.token, i.mu.ends = token.Token, token.Expires
	return i.mu.token, nil
}

// findIDLocked finds the ID of the only installation of an app. It must be called with mu
// held.
func (i *Installation) findIDLocked(ctx context.Context) error {
	if i.mu.id != 0 {
		return nil
	}
	var all []struct {
		ID int64 `json:"id"`
	}
	if err := i.api.Get(ctx, "app/installations", nil, &all); err != nil {
		return fmt.Errorf("installations of app %d: %w", i.app.ID, err)
	}
	if len(all) != 1 {
		return fmt.Errorf("app %d has %d installations: name one of them as app.installation", i.app.ID, len(all))
	}
	i.mu.id = all[0].ID
	return nil
}
