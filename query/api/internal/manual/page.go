package manual

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the template and the style
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/openapi"
)

//go:embed page.html
var pageText string

//go:embed page.css
var style string

// Style returns the style source that a Content-Security-Policy must allow for the page,
// by its hash.
func Style() string {
	sum := sha256.Sum256([]byte(style))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// page is the data of the template.
type page struct {
	*openapi.Document
	Style  template.CSS
	Groups []group
	Shapes []shape
}

// group holds the operations of a tag.
type group struct {
	openapi.Tag
	Operations []operation
}

type operation struct {
	*openapi.Operation
	Method, Path string
	Parameters   []parameter
	Body         *body
	Answers      []answer
	Curl         string
}

type parameter struct {
	*openapi.Parameter
	Type    template.HTML
	Example string
}

type body struct {
	Type    template.HTML
	Example string
}

type answer struct {
	Status, Description string
	Headers             []header
	Body                *body
}

type header struct{ Name, Description string }

// shape is a schema.
type shape struct {
	Name, Description string
	Type              template.HTML // unless it has members
	Members           []member
}

type member struct {
	Name, Description string
	Type              template.HTML
	Required          bool
}

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"lines":  func(text string) []string { return strings.Split(strings.TrimSpace(text), "\n\n") },
	"access": func(a openapi.Access) string { return accessWords[a] },
	"anchor": tagAnchor,
}).Parse(pageText))

// tagAnchor returns a tag as an HTML ID that needs no escapes in a link.
func tagAnchor(tag string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(tag), func(r rune) bool { return r < 'a' || r > 'z' }), "-")
}

// accessWords describe the access rules.
var accessWords = map[openapi.Access]string{
	openapi.AccessOpen:     "Everyone.",
	openapi.AccessSearch:   "Needs the scope search; without credentials where anonymous access is on.",
	openapi.AccessGit:      "Needs the scope git; without credentials where anonymous access is on.",
	openapi.AccessRead:     "Needs the scope search or git; without credentials where anonymous access is on.",
	openapi.AccessMember:   "Needs a user: a session or an API key.",
	openapi.AccessOwner:    "Needs an owner, with the scope admin.",
	openapi.AccessScip:     "Needs the scope scip: a key of an owner.",
	openapi.AccessOperator: "Needs the operator: the token in the data directory of the server.",
}

// Page returns d as HTML. It fails if d contains a broken reference.
func Page(d *openapi.Document) ([]byte, error) {
	r := &renderer{d}
	p := page{Document: d, Style: template.CSS(style)} // embedded, trusted
	for _, tag := range d.Tags {
		p.Groups = append(p.Groups, group{Tag: tag})
	}
	for _, path := range d.Paths {
		for _, m := range path.Value.Methods() {
			i := slices.IndexFunc(p.Groups, func(g group) bool { return slices.Contains(m.Operation.Tags, g.Name) })
			if i < 0 {
				return nil, fmt.Errorf("%s %s: no tag of the document's", m.Name, path.Name)
			}
			p.Groups[i].Operations = append(p.Groups[i].Operations, r.renderOperation(m.Name, path.Name, path.Value, m.Operation))
		}
	}
	p.Groups = slices.DeleteFunc(p.Groups, func(g group) bool { return len(g.Operations) == 0 })
	for _, s := range d.Components.Schemas {
		p.Shapes = append(p.Shapes, r.renderShape(s.Name, s.Value))
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, p); err != nil {
		return nil, fmt.Errorf("render the manual: %w", err)
	}
	return out.Bytes(), nil
}
