package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/quarrysearch/quarry/schemas/openapi"
)

const contentTypeOpenAPI = "application/vnd.oai.openapi+json;version=3.0.3"

// descriptionCache is how long a client may keep the description without asking.
const descriptionCache = "public, max-age=300"

// description is a document that does not change while the server runs.
type description struct {
	contentType string
	body        []byte
	etag        string
}

func newDescription(contentType string, body []byte) description {
	sum := sha256.Sum256(body)
	return description{contentType, body, `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// describe returns the OpenAPI document of this server.
func describe(d *openapi.Document, publicURL, version string) (description, error) {
	own := *d
	own.Servers = []openapi.Server{{URL: publicURL, Description: "Quarry " + version}}
	body, err := own.JSON()
	if err != nil {
		return description{}, err
	}
	return newDescription(contentTypeOpenAPI, body), nil
}

func (s *Server) openAPI(r *http.Request) (*reply, error) { return s.openapi.answer(r), nil }

// answer sends the description, or says that the client has it.
func (d *description) answer(r *http.Request) *reply {
	header := http.Header{"Content-Type": {d.contentType}, "Cache-Control": {descriptionCache}, "Etag": {d.etag}}
	for tag := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == d.etag || tag == "*" {
			return &reply{status: http.StatusNotModified, header: header, body: []byte(nil)}
		}
	}
	return &reply{status: http.StatusOK, header: header, body: d.body}
}
