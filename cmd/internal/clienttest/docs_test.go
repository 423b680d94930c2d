package clienttest

import (
	"fmt"
	"os"
	"regexp"
	"testing"
)

var pinPattern = regexp.MustCompile(`([\w@./-]*\w)(?:@|==)(v?\d[\w.]*)`)

// TestDocumentedVersions compares the versions that docs/api.md installs with those that
// are tested.
func TestDocumentedVersions(t *testing.T) {
	for _, l := range languages {
		pins, form := "testdata/go/go.mod", `(?m)%s %s( //.*)?$`
		switch l.name {
		case "python":
			pins, form = "../../../deploy/clients/requirements.txt", `(?m)^%s==%s$`
		case "typescript":
			pins, form = "../../../deploy/clients/package.json", `"%s": "%s"`
		}
		tested, err := os.ReadFile(pins)
		if err != nil {
			t.Fatal(err)
		}
		_, install, _ := documentedCommands(t, l.title)
		found := pinPattern.FindAllStringSubmatch(install, -1)
		if len(found) == 0 {
			t.Errorf("docs/api.md installs no version for %s", l.title)
		}
		for _, m := range found {
			// A Go tool is a package within its module.
			name := regexp.MustCompile(`/cmd/.*`).ReplaceAllString(m[1], "")
			pattern := regexp.MustCompile(fmt.Sprintf(form, regexp.QuoteMeta(name), regexp.QuoteMeta(m[2])))
			if !pattern.Match(tested) {
				t.Errorf("docs/api.md installs %s %s, which is not in %s", name, m[2], pins)
			}
		}
	}
}
