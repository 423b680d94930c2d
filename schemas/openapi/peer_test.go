package openapi_test

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/openapi/openapitest"
)

// TestPeerDocument compares quarry.yaml with the peer's interface: a client generated
// from the peer's document can send the same requests to Quarry and can read Quarry's
// responses. All deliberate differences are listed in peerDifferences.
func TestPeerDocument(t *testing.T) {
	b, err := os.ReadFile("testdata/peer-v5.1.9.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := &peerComparison{theirs: openapitest.Parse(t, b), ours: openapitest.Load(t)}
	c.compareOperations()
	if operations := len(c.operations); operations != 20 {
		t.Errorf("%d operations were compared, the peer has 20", operations)
	}
	for _, found := range c.differences {
		if !slices.ContainsFunc(peerDifferences, func(d peerDifference) bool { return d.matchesPath(found) }) {
			t.Errorf("%s; change quarry.yaml, or add the difference to peerDifferences with its reason", found)
		}
	}
	for _, d := range peerDifferences {
		if !slices.ContainsFunc(c.differences, d.matchesPath) {
			t.Errorf("%q is no difference any more: delete it from peerDifferences", d.pattern)
		}
	}
}

// TestPeerComparison changes one fact of a document at a time. The comparison must find
// each change, and nothing in equal documents.
func TestPeerComparison(t *testing.T) {
	const document = `
openapi: 3.0.3
info: { title: t, version: '1' }
security: [{ key: [] }, {}]
paths:
  /api/things/{id}:
    post:
      operationId: makeThing
      tags: [Things]
      parameters:
        - { name: id, in: path, required: true, schema: { type: string } }
        - { name: page, in: query, schema: { type: integer, minimum: 0, exclusiveMinimum: true, maximum: 9 } }
      requestBody: { required: true, content: { application/json: { schema: { $ref: '#/components/schemas/Request' } } } }
      responses:
        '200':
          description: d
          headers: { Link: { schema: { type: string } } }
          content: { application/json: { schema: { $ref: '#/components/schemas/Answer' } } }
        '404': { description: d }
components:
  securitySchemes: { key: { type: apiKey, in: header, name: X-Key } }
  schemas:
    Request: { type: object, required: [name], properties: { name: { type: string }, order: { type: string, enum: [a, b] } } }
    Answer:
      type: object
      required: [id, size, children]
      properties:
        id: { type: string, pattern: '^x_' }
        size: { type: number }
        at: { type: string, format: date-time, nullable: true }
        kind: { type: string, enum: [a, b] }
        children: { type: array, items: { $ref: '#/components/schemas/Answer' } }
`
	for _, tc := range []struct{ old, new, want string }{
		{"size: { type: number }", "size: { type: integer }", ""},
		{"{ type: integer, minimum: 0, exclusiveMinimum: true, maximum: 9 }", "{ type: integer, minimum: 1, maximum: 9 }", ""},
		{"maximum: 9", "maximum: 10", ""},
		{"enum: [a, b] } } }\n", "enum: [a, b, c] } } }\n", ""},
		{"/api/things/{id}", "/api/thing/{id}", "makeThing: POST /api/things/{id} is missing"},
		{"operationId: makeThing", "operationId: createThing", "makeThing: operationId is createThing"},
		{"tags: [Things]", "tags: [Others]", "makeThing: tag is Others, not Things"},
		{"{ key: [] }, {}", "{ key: [] }", "makeThing: anonymous is not accepted"},
		{"name: X-Key", "name: X-Other", "makeThing: credential apiKey header X-Key is not accepted"},
		{"name: page", "name: sheet", "makeThing: query page: is missing"},
		{"name: page,", "name: page, required: true,", "makeThing: query page: is required"},
		{"maximum: 9", "maximum: 8", "makeThing: query page: maximum"},
		{"minimum: 0, exclusiveMinimum: true", "minimum: 2", "makeThing: query page: minimum"},
		{"required: [name]", "required: [name, order]", "makeThing: request order: is required"},
		{"{ name: { type: string }", "{ name: { type: string, maxLength: 9 }", "makeThing: request name: maxLength"},
		{"{ name: { type: string }", "{ name: { type: boolean }", "makeThing: request name: type is boolean, not string"},
		{"enum: [a, b] } } }\n", "enum: [a] } } }\n", "makeThing: request order: enum lacks b"},
		{"'404'", "'405'", "makeThing: status 404 is missing"},
		{"{ Link:", "{ Links:", "makeThing: 200: header Link is missing"},
		{"required: [id, size, children]", "required: [id, children]", "makeThing: 200 size: may be absent"},
		{"        kind:", "        sort:", "makeThing: 200 kind: is missing"},
		{"pattern: '^x_'", "pattern: '^y_'", "makeThing: 200 id: pattern is ^y_, not ^x_"},
		{"size: { type: number }", "size: { type: string }", "makeThing: 200 size: type is string, not number"},
		{"size: { type: number }", "size: { type: number, nullable: true }", "makeThing: 200 size: may be null"},
		{"format: date-time", "format: date", "makeThing: 200 at: format is date, not date-time"},
		{"kind: { type: string, enum: [a, b] }", "kind: { type: string, enum: [a, b, c] }", "makeThing: 200 kind: enum has c"},
		{"kind: { type: string, enum: [a, b] }", "kind: { type: string }", "makeThing: 200 kind: enum has any value"},
	} {
		changed := strings.Replace(document, tc.old, tc.new, 1)
		if changed == document {
			t.Fatalf("%q is not in the document", tc.old)
		}
		c := &peerComparison{theirs: openapitest.Parse(t, []byte(document)), ours: openapitest.Parse(t, []byte(changed))}
		c.compareOperations()
		switch {
		case tc.want == "" && len(c.differences) > 0:
			t.Errorf("%s → %s: %q, want no difference", tc.old, tc.new, c.differences)
		case tc.want != "" && !slices.ContainsFunc(c.differences, func(d string) bool { return strings.HasPrefix(d, tc.want) }):
			t.Errorf("%s → %s: %q, want %q", tc.old, tc.new, c.differences, tc.want)
		}
	}
}

// peerDifference is a deliberate difference.
type peerDifference struct {
	pattern string // of the difference, as in path.Match, except that a star also matches a slash
	reason  string
}

func (d peerDifference) matchesPath(found string) bool {
	replacer := strings.NewReplacer("/", "|", "[", "(", "]", ")")
	ok, _ := path.Match(replacer.Replace(d.pattern), replacer.Replace(found))
	return ok
}
