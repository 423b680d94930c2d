package web

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/publicurl"
)

// TestPagesParse parses each page: servers parse a page when it is first shown.
func TestPagesParse(t *testing.T) {
	texts, err := readTexts()
	if err != nil {
		t.Fatal(err)
	}
	assets, err := packAssets()
	if err != nil {
		t.Fatal(err)
	}
	public, err := publicurl.Parse("https://code.example.org/quarry")
	if err != nil {
		t.Fatal(err)
	}
	templates, err := newTemplates(assets, texts, public, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "pages/"), ".html")
		if name == "base" || name == "operate" || strings.HasPrefix(name, "part-") {
			continue
		}
		if _, err := templates.page(name); err != nil {
			t.Error(err)
		}
	}
	if len(templates.byName) < 20 {
		t.Errorf("parsed %d pages, want all", len(templates.byName))
	}
}
