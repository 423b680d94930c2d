package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Host is the code host of a connection.
type Host struct {
	// Name is the host, port and path of the base URL; the host is in lower case. Names
	// of repositories begin with it.
	Name string
	// Address is host and port. URLs in a payload must be on it.
	Address string
	// Base is the base URL without a trailing slash.
	Base string
}

// ParseHost returns the host of a connection. If url is empty, publicURL is used, which
// is empty for kinds without a public host.
func ParseHost(c Connection, publicURL string) (Host, error) {
	base := c.URL
	if base == "" {
		base = publicURL
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return Host{}, fmt.Errorf("connection %s: url %.80q: want the base URL of the %s host, such as https://git.example.org", c.Name, c.URL, c.Kind)
	}
	address, below := strings.ToLower(u.Host), strings.TrimRight(u.Path, "/")
	return Host{Name: address + below, Address: address, Base: u.Scheme + "://" + address + below}, nil
}

// ParseSecrets returns the secrets of a connection as keys. how tells the operator where
// to find them at the host.
func ParseSecrets(c Connection, how string) ([][]byte, error) {
	if len(c.Secrets) == 0 {
		return nil, fmt.Errorf("connection %s: no secret: %s", c.Name, how)
	}
	keys := make([][]byte, len(c.Secrets))
	for i, secret := range c.Secrets {
		if secret == "" {
			return nil, fmt.Errorf("connection %s: secret %d is empty", c.Name, i+1)
		}
		keys[i] = []byte(secret)
	}
	return keys, nil
}

// CheckCloneURL parses a clone URL of a payload. It must be on the host: a webhook cannot
// make Quarry fetch from elsewhere. Errors wrap ErrInvalidPayload and name the field.
func (h Host) CheckCloneURL(field, s string) (code.CloneURL, error) {
	clone, err := code.ParseCloneURL(s)
	if err != nil {
		return code.CloneURL{}, fmt.Errorf("%w: %s: %w", ErrInvalidPayload, field, err)
	}
	if clone.Host != h.Address {
		return code.CloneURL{}, fmt.Errorf("%w: %s is on host %.80q, the connection is for %q", ErrInvalidPayload, field, clone.Host, h.Address)
	}
	return clone, nil
}

// ProjectURL returns the URL of a project whose payload contains only its path. Errors
// wrap ErrInvalidPayload and name the field.
func (h Host) ProjectURL(field, project string) (string, error) {
	if project == "" || path.Clean("/"+project) != "/"+project {
		return "", fmt.Errorf("%w: %s %.80q is no path of a project", ErrInvalidPayload, field, project)
	}
	address := h.Base + "/" + project
	_, err := h.CheckCloneURL(field, address)
	return address, err
}

// PageURL returns s if it is an http(s) URL on the host, and an empty string otherwise,
// because it becomes a link in pages.
func (h Host) PageURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || !strings.EqualFold(u.Host, h.Address) || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return s
}

// Ignore returns the delivery of an event that does not affect the index, with the
// reason.
func Ignore(reason string) Delivery { return Delivery{Outcome: Ignored, Reason: reason} }

// IgnoreEvent returns the delivery of an event that a translator does not read. Its
// payload must still be JSON, so that a misconfigured webhook is noticed at its first
// delivery rather than at its first push.
func IgnoreEvent(name string, payload []byte) (Delivery, error) {
	if !json.Valid(trimByteOrderMark(payload)) {
		return Delivery{}, ErrNotJSON
	}
	return IgnoreKind(name), nil
}

// IgnoreKind is IgnoreEvent for a payload that has been decoded.
func IgnoreKind(name string) Delivery {
	return Ignore(fmt.Sprintf("event %.40q does not affect the index", name))
}

// IgnoreAction returns the delivery of a repository action that a translator does not
// read.
func IgnoreAction(action string, r code.Repository) Delivery {
	d := Ignore(fmt.Sprintf("repository action %.40q does not affect the index", action))
	d.Repository = r
	return d
}

// FormPayload returns the JSON of a delivery: the body, or the payload field if the
// webhook sends forms.
func FormPayload(h http.Header, body []byte) ([]byte, error) {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || media != "application/x-www-form-urlencoded" {
		return body, nil
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fmt.Errorf("%w: the form does not parse", ErrInvalidPayload)
	}
	return []byte(form.Get("payload")), nil
}

// bodyIDBytes of a hash are enough to identify the deliveries of one host.
const bodyIDBytes = 16

// BodyID returns an ID derived from the content, which stays the same when the delivery
// is resent, for hosts that send no ID.
func BodyID(prefix string, body []byte) string {
	sum := sha256.Sum256(body)
	return prefix + hex.EncodeToString(sum[:bodyIDBytes])
}

// Zeros is the commit that hosts send for a ref that does not exist.
const Zeros = "0000000000000000000000000000000000000000"

// FullRef returns the full name of a ref from its type, branch or tag, and its short
// name. It returns an empty string for other types.
func FullRef(kind, short string) string {
	switch strings.ToLower(kind) {
	case "branch":
		return "refs/heads/" + short
	case "tag":
		return "refs/tags/" + short
	}
	return ""
}
