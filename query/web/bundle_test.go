package web_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/quarrysearch/quarry/query/auth/oidc/oidctest"
)

// TestBundleIsCurrent builds the scripts, the icons and the licenses of both again, and
// compares them with the committed files byte by byte; with QUARRY_GENERATE it writes
// them. Every scripts/*.js is the script of a page.
func TestBundleIsCurrent(t *testing.T) {
	modules := oidctest.Modules(t, "lit")
	built := buildScripts(t, modules)
	built["icons.svg"] = buildSprite(t, modules)
	built["licenses.txt"] = collectLicenses(t, modules, built["meta"])
	delete(built, "meta")
	for name, want := range built {
		path := filepath.Join("static", name)
		if os.Getenv("QUARRY_GENERATE") != "" {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what its sources make; run make generate", path)
		}
	}
}

// buildScripts returns the bundle of each entry by name, and under "meta" the list of
// inputs.
func buildScripts(t *testing.T, modules string) map[string][]byte {
	t.Helper()
	entries, err := filepath.Glob("scripts/*.js")
	if err != nil || len(entries) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	// The bundle must not contain the path where it was built.
	working, err := filepath.Abs("scripts")
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		entries[i] = "./" + filepath.Base(entries[i])
	}
	result := api.Build(api.BuildOptions{
		EntryPoints:   entries,
		AbsWorkingDir: working, NodePaths: []string{modules}, Outdir: "out", Bundle: true, Format: api.FormatESModule, Target: api.ES2022,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LegalComments: api.LegalCommentsNone, Conditions: []string{"production"}, Metafile: true,
	})
	for _, m := range append(result.Errors, result.Warnings...) {
		t.Errorf("%s: %v", m.Text, m.Location)
	}
	if t.Failed() {
		t.FailNow()
	}
	built := map[string][]byte{"meta": []byte(result.Metafile)}
	for _, f := range result.OutputFiles {
		built[filepath.Base(f.Path)] = append([]byte("// Made of query/web/scripts by make generate; licenses.txt has the licenses.\n"), f.Contents...)
	}
	return built
}

// buildSprite returns the icons of scripts/icons.txt and the logo as symbols of one file.
func buildSprite(t *testing.T, modules string) []byte {
	t.Helper()
	names, err := os.ReadFile("scripts/icons.txt")
	if err != nil {
		t.Fatal(err)
	}
	blanks := regexp.MustCompile(`\s*\n\s*`)
	var b bytes.Buffer
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg">` + "\n")
	for _, name := range strings.Fields(string(names)) {
		source, err := os.ReadFile(filepath.Join(modules, "lucide-static", "icons", name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		var icon struct {
			ViewBox string `xml:"viewBox,attr"`
			Inner   string `xml:",innerxml"`
		}
		if err := xml.Unmarshal(source, &icon); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fmt.Fprintf(&b, `<symbol id="%s" viewBox="%s">%s</symbol>`+"\n", name, icon.ViewBox, strings.TrimSpace(blanks.ReplaceAllString(icon.Inner, "")))
	}
	logo, err := os.ReadFile("static/quarry.svg")
	if err != nil {
		t.Fatal(err)
	}
	inner := regexp.MustCompile(`(?s)^<svg[^>]*viewBox="([^"]+)"[^>]*>(.*)</svg>\s*$`).FindSubmatch(logo)
	if inner == nil {
		t.Fatal("quarry.svg has no viewBox")
	}
	fmt.Fprintf(&b, "<symbol id=\"logo\" viewBox=\"%s\">%s</symbol>\n", inner[1], inner[2])
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// collectLicenses returns the licenses of the npm packages in the scripts and the sprite.
func collectLicenses(t *testing.T, modules string, metafile []byte) []byte {
	t.Helper()
	var meta struct {
		Outputs map[string]struct {
			Inputs map[string]struct{ BytesInOutput int }
		}
	}
	if err := json.Unmarshal(metafile, &meta); err != nil {
		t.Fatal(err)
	}
	packages := []string{"lucide-static"}
	for _, output := range meta.Outputs {
		for input, part := range output.Inputs {
			_, inside, ok := strings.Cut(input, "node_modules/")
			if !ok || part.BytesInOutput == 0 {
				continue
			}
			elements := strings.SplitN(inside, "/", 3)
			name := elements[0]
			if strings.HasPrefix(name, "@") {
				name += "/" + elements[1]
			}
			if !slices.Contains(packages, name) {
				packages = append(packages, name)
			}
		}
	}
	slices.Sort(packages)
	var b bytes.Buffer
	b.WriteString("The scripts and icons of Quarry's pages contain the npm packages below, each under the license that follows it.\nWritten by \"make generate\".\n")
	for _, name := range packages {
		var about struct{ Version, License string }
		described, err := os.ReadFile(filepath.Join(modules, name, "package.json"))
		if err == nil {
			err = json.Unmarshal(described, &about)
		}
		if err != nil {
			t.Fatal(err)
		}
		license, err := os.ReadFile(filepath.Join(modules, name, "LICENSE"))
		if err != nil {
			t.Fatalf("%s has no license file: it may not be distributed: %v", name, err)
		}
		fmt.Fprintf(&b, "\n%s\n%s %s (%s)\n\n%s\n", strings.Repeat("=", 80), name, about.Version, about.License, bytes.TrimSpace(bytes.ReplaceAll(license, []byte("\r\n"), []byte("\n"))))
	}
	return b.Bytes()
}
