package manifests_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/navigate/internal/manifests"
)

// TestFormats checks for each kind of manifest that the file is found by its path and its
// text, and that it names its own package but no dependency.
func TestFormats(t *testing.T) {
	for _, c := range []struct{ manager, path, text, names, not string }{
		{"gomod", "tools/go.mod", "// The tools.\nmodule \"example.com/pot\" // main\n\nrequire example.com/ware v1.0.0\n", "example.com/pot", "example.com/ware"},
		{"gomod", "go.mod", "module example.com/pot/v2\n", "example.com/pot/v2", "example.com/pot"},
		{"npm", "web/package.json", `{"author": {"name": "ada"}, "name": "@meadow/pot", "dependencies": {"ware": "1"}}`, "@meadow/pot", "ada"},
		{"composer", "composer.json", `{"name": "meadow\/pot"}`, "meadow/pot", "meadow"},
		{"cargo", "Cargo.toml", "[package]\nname = \"pot\" # holds water\n[[bin]]\nname = \"ware\"\n", "pot", "ware"},
		{"python", "pyproject.toml", "[build-system]\nname = \"ware\"\n[project]\nname = 'Copper.Pot'\n", "copper_pot", "ware"},
		{"pip", "setup.cfg", "[metadata]\nname = copper-pot\n[options]\nname = ware\n", "Copper_Pot", "ware"},
		{"python", "setup.py", "setup(\n    name=\"copper-pot\",\n    install_requires=['ware'])\n", "copper-pot", "ware"},
		{"pub", "pubspec.yaml", "name: pot\ndependencies:\n  ware: any\n  name: other\n", "pot", "other"},
		{"gem", "pot.gemspec", "Gem::Specification.new do |s|\n  s.name = 'pot'\n  s.add_dependency 'ware'\nend\n", "pot", "ware"},
		{"maven", "pom.xml", "<project><parent><groupId>org.meadow</groupId><artifactId>ware</artifactId></parent><artifactId>pot</artifactId></project>", "maven/org.meadow/pot", "maven/org.meadow/ware"},
		{"maven", "pom.xml", "<project><groupId>org.meadow</groupId><artifactId>pot</artifactId></project>", "org.meadow:pot", "org.other:pot"},
		{"nuget", "src/Pot.csproj", "<Project><PropertyGroup><PackageId>Meadow.Pot</PackageId></PropertyGroup><ItemGroup><PackageReference Include=\"Ware\"/></ItemGroup></Project>", "meadow.pot", "Ware"},
	} {
		found := false
		formats := manifests.Formats(c.manager)
		for i := range formats {
			f := &formats[i]
			if !regexp.MustCompile(f.File).MatchString(c.path) {
				continue
			}
			found = true
			pattern, caseSensitive := f.Text(c.names)
			if !caseSensitive {
				pattern = "(?i)" + pattern
			}
			if !regexp.MustCompile("(?m)" + pattern).MatchString(c.text) {
				t.Errorf("%s: %s does not match %q", c.path, pattern, c.text)
			}
			if !f.Declares([]byte(c.text), c.names) || f.Declares([]byte(c.text), c.not) {
				t.Errorf("%s: want %s and not %s in %q", c.path, c.names, c.not, c.text)
			}
		}
		if !found {
			t.Errorf("%s has no manifests at %s", c.manager, c.path)
		}
	}
	if manifests.Formats(".") != nil {
		t.Error("a manager of no name has manifests")
	}
}

func FuzzDeclares(f *testing.F) {
	f.Add("<project><artifactId>x", "maven/x/x")
	f.Add("[project\nname = ", "x")
	f.Add(strings.Repeat("[", 1000), "a(b")
	f.Fuzz(func(t *testing.T, text, name string) {
		for _, manager := range []string{"gomod", "npm", "cargo", "python", "pub", "gem", "maven", "nuget"} {
			formats := manifests.Formats(manager)
			for i := range formats {
				pattern, _ := formats[i].Text(name)
				if _, err := regexp.Compile(pattern); err != nil {
					t.Fatalf("%s: %v", manager, err)
				}
				formats[i].Declares([]byte(text), name)
			}
		}
	})
}
