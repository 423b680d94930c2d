package manual_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/api/internal/manual"
	"github.com/quarrysearch/quarry/schemas/openapi"
)

func page(t *testing.T) (*openapi.Document, string) {
	t.Helper()
	d, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	own := *d
	own.Servers = []openapi.Server{{URL: "https://code.example", Description: "Quarry v1"}}
	b, err := manual.Page(&own)
	if err != nil {
		t.Fatal(err)
	}
	return d, string(b)
}

// TestPageStandsAlone checks that the page is well-formed, runs nothing and fetches
// nothing, and that every link within it has a target.
func TestPageStandsAlone(t *testing.T) {
	_, text := page(t)
	ids, links := make(map[string]bool), make(map[string]bool)
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch element.Name.Local {
		case "script", "link", "img", "iframe", "form":
			t.Errorf("the page has a %s", element.Name.Local)
		}
		for _, a := range element.Attr {
			switch {
			case a.Name.Local == "id" && ids[a.Value]:
				t.Errorf("two elements have the id %s", a.Value)
			case a.Name.Local == "id":
				ids[a.Value] = true
			case a.Name.Local == "href" && a.Value != "openapi.json" && a.Value != "../":
				links[strings.TrimPrefix(a.Value, "#")] = true
			case a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on"):
				t.Errorf("%s: a strict policy refuses it", a.Name.Local)
			}
		}
	}
	for link := range links {
		if !ids[link] {
			t.Errorf("the link to %q leads nowhere", link)
		}
	}
}

// TestPageIsWhole checks that everything in the document is on the page.
func TestPageIsWhole(t *testing.T) {
	d, text := page(t)
	wanted := func(what string) {
		if !strings.Contains(text, what) {
			t.Errorf("the page lacks %s", what)
		}
	}
	for _, path := range d.Paths {
		for _, m := range path.Value.Methods() {
			wanted(`id="` + m.Operation.OperationID + `"`)
			wanted(`<span class="method">` + m.Name + `</span>` + path.Name)
			for _, parameter := range d.Parameters(path.Value, m.Operation) {
				wanted("<td><code>" + parameter.Name + "</code>")
			}
		}
	}
	if strings.Contains(text, `<p class="soft"></p>`) {
		t.Error("an operation does not say who may ask")
	}
	for _, s := range d.Components.Schemas {
		wanted(`id="schema-` + s.Name + `"`)
		for _, m := range s.Value.Properties {
			wanted("<td><code>" + m.Name + "</code>")
		}
	}
	wanted("curl -X POST -H &#34;Authorization: Bearer $QUARRY_API_KEY&#34; -H &#39;Content-Type: application/json&#39; -d &#39;{&#34;query&#34;:&#34;boil lang:go&#34;")
}
