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
	// Name is host, port and path of the base URL, in lower case up to the path:
	// "git.example.org:8443/gitlab". Names of repositories begin with it.
	Name string
	// Address is host and port alone: where URLs of a payload must lead.
	Address string
	// Base is the base URL without a slash at its end.
	Base string
}

// ParseHost returns the host of a connection; publicURL is used for an empty URL,
// and is empty for kinds that have no public host.
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

// ParseSecrets returns the secrets of a connection as keys. how says where the host has
// them.
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

// CheckCloneURL takes a clone URL of a payload apart. It must lead to the host: a hook
// cannot make Quarry fetch from elsewhere. Errors wrap ErrInvalidPayload and name the
// field.
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

// ProjectURL returns the address of a project whose payload has its path alone. Errors
// wrap ErrInvalidPayload and name the field.
func (h Host) ProjectURL(field, project string) (string, error) {
	if project == "" || path.Clean("/"+project) != "/"+project {
		return "", fmt.Errorf("%w: %s %.80q is no path of a project", ErrInvalidPayload, field, project)
	}
	address := h.Base + "/" + project
	_, err := h.CheckCloneURL(field, address)
	return address, err
}

// PageURL returns s if it is an http(s) URL on the host, and nothing otherwise: it
// becomes a link in pages.
func (h Host) PageURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || !strings.EqualFold(u.Host, h.Address) || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return s
}

// Ignore is the delivery of an event that does not affect the index, with the reason.
func Ignore(reason string) Delivery { return Delivery{Outcome: Ignored, Reason: reason} }

// IgnoreEvent is the delivery of an event that a translator does not read. Its payload
// must be JSON all the same: a misconfigured hook is better noticed at its first delivery
// than at its first push.
func IgnoreEvent(name string, payload []byte) (Delivery, error) {
	if !json.Valid(trimByteOrderMark(payload)) {
		return Delivery{}, ErrNotJSON
	}
	return IgnoreKind(name), nil
}

// IgnoreKind is IgnoreEvent for a payload that was decoded.
func IgnoreKind(name string) Delivery {
	return Ignore(fmt.Sprintf("event %.40q does not affect the index", name))
}

// IgnoreAction is the delivery of an action on a repository that a translator does not
// read.
func IgnoreAction(action string, r code.Repository) Delivery {
	d := Ignore(fmt.Sprintf("repository action %.40q does not affect the index", action))
	d.Repository = r
	return d
}

// FormPayload returns the JSON of a delivery: the body, or the field payload of a hook
// that is set to send forms.
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

// bodyIDBytes of a hash tell the deliveries of one host apart.
const bodyIDBytes = 16

// BodyID identifies a delivery whose host gives none by its content, which is the same
// when it is sent again.
func BodyID(prefix string, body []byte) string {
	sum := sha256.Sum256(body)
	return prefix + hex.EncodeToString(sum[:bodyIDBytes])
}

// Zeros is how hosts write the commit of a ref that does not exist.
const Zeros = "0000000000000000000000000000000000000000"

// FullRef returns the full name of a ref that a host names by its type, branch or tag, and
// its short name. Empty for other types.
func FullRef(kind, short string) string {
	switch strings.ToLower(kind) {
	case "branch":
		return "refs/heads/" + short
	case "tag":
		return "refs/tags/" + short
	}
	return ""
}
