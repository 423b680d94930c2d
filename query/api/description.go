package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/api/internal/manual"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/publicurl"
	"github.com/quarrysearch/quarry/schemas/openapi"
)

// descriptions document the API for people and programs. They do not change while the
// server runs.
type descriptions struct{ json, page description }

// description is a response that clients may cache, as it is and in gzip.
type description struct{ plain, packed encodedDescription }

// encodedDescription is a response that clients may cache, under the tag of its header.
type encodedDescription struct {
	header http.Header
	body   []byte
}

const (
	contentTypeOpenAPI = "application/vnd.oai.openapi+json;version=3.0.3"
	// descriptionCache is how long a client may cache a description without revalidation.
	descriptionCache = "public, max-age=300"
)

// newDescriptions returns the descriptions of this server.
func newDescriptions(d *openapi.Document, public publicurl.URL, version string) (out descriptions, err error) {
	own := *d
	own.Servers = []openapi.Server{{URL: public.String(), Description: "Quarry " + version}}
	own.Components.SecuritySchemes = withCookieName(own.Components.SecuritySchemes, public.CookieName(auth.CookieName))
	body, err := own.JSON()
	if err != nil {
		return out, err
	}
	out.json = newDescription(contentTypeOpenAPI, body).withGzip()
	if body, err = manual.Page(&own); err != nil {
		return out, err
	}
	page := newDescription("text/html; charset=utf-8", body)
	page.header.Set("Content-Security-Policy", "default-src 'none'; style-src "+manual.Style()+"; frame-ancestors 'self'; base-uri 'none'; form-action 'none'")
	out.page = page.withGzip()
	return out, nil
}

// withCookieName returns the schemes with the name that the session cookie has on this
// server.
func withCookieName(schemes openapi.List[*openapi.SecurityScheme], name string) openapi.List[*openapi.SecurityScheme] {
	schemes = slices.Clone(schemes)
	for i, s := range schemes {
		if s.Value.In == "cookie" {
			cookie := *s.Value
			cookie.Name = name
			schemes[i].Value = &cookie
		}
	}
	return schemes
}

func newDescription(contentType string, body []byte) encodedDescription {
	sum := sha256.Sum256(body)
	header := make(http.Header)
	header.Set("Content-Type", contentType)
	header.Set("Cache-Control", descriptionCache)
	header.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	return encodedDescription{header, body}
}

// withGzip returns a description in both encodings.
func (d encodedDescription) withGzip() description {
	d.header.Set("Vary", "Accept-Encoding, Origin") // replaces that of shared origins
	packed := encodedDescription{d.header.Clone(), front.Compress(d.body)}
	packed.header.Set("ETag", strings.TrimSuffix(d.header.Get("ETag"), `"`)+`-gzip"`)
	packed.header.Set("Content-Encoding", "gzip")
	return description{d, packed}
}

func (s *Server) describeJSON(r *http.Request) (*reply, error) {
	d, err := s.openapi()
	if err != nil {
		return nil, err
	}
	return d.json.replyTo(r), nil
}

func (s *Server) describePage(r *http.Request) (*reply, error) {
	d, err := s.openapi()
	if err != nil {
		return nil, err
	}
	return d.page.replyTo(r), nil
}

// replyTo returns the description in the encoding that the client accepts.
func (d *description) replyTo(r *http.Request) *reply {
	if front.AcceptsGzip(r) {
		return d.packed.replyTo(r)
	}
	return d.plain.replyTo(r)
}

// replyTo returns the description, or a 304 if the client has it.
func (d *encodedDescription) replyTo(r *http.Request) *reply {
	for tag := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == d.header.Get("ETag") || tag == "*" {
			return &reply{status: http.StatusNotModified, header: d.header}
		}
	}
	return &reply{status: http.StatusOK, header: d.header, body: d.body}
}
