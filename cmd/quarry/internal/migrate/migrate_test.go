package migrate_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/migrate"
)

// TestExamples converts each example to the expected settings, which must be valid and
// contain no secret of the example. QUARRY_GENERATE=1 writes the expected settings.
func TestExamples(t *testing.T) {
	for _, format := range migrate.Formats {
		t.Run(format, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", format+".json"))
			if err != nil {
				t.Fatal(err)
			}
			got := convert(t, format, text)
			golden := filepath.Join("testdata", format+".yaml")
			if os.Getenv("QUARRY_GENERATE") != "" {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs; QUARRY_GENERATE=1 rewrites it:\n%s", golden, got)
			}
			if bytes.Contains(got, []byte("hunter2")) {
				t.Error("a secret was copied")
			}
		})
	}
}

// convert returns the settings as text, after loading them as the server does.
func convert(t *testing.T, format string, text []byte) []byte {
	t.Helper()
	r, err := migrate.Convert(format, text)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range r.Notes {
		if n := bytes.Count(got, []byte("# "+note+"\n")); n != 1 {
			t.Errorf("the note %q is %d times in the settings, want 1", note, n)
		}
	}
	file := filepath.Join(t.TempDir(), "quarry.yaml")
	if err := os.WriteFile(file, got, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (config.Loader{File: file, WithoutSecrets: true}).Load(); err != nil {
		t.Errorf("the settings are not valid: %v\n%s", err, got)
	}
	return got
}

// TestAccessIsNotWidened checks that repositories become private if the other server
// asked the code host who may read.
func TestAccessIsNotWidened(t *testing.T) {
	got := convert(t, "sourcebot", []byte(`{"connections": {"a": {"type": "github", "orgs": ["o"], "enforcePermissions": true}}}`))
	if !bytes.Contains(got, []byte("defaultVisibility: private")) {
		t.Errorf("repositories are not private:\n%s", got)
	}
	got = convert(t, "sourcebot", []byte(`{"contexts": {"a": {"include": ["**"], "excludeConnections": ["secret"]}}}`))
	if bytes.Contains(got, []byte("contexts:\n")) {
		t.Errorf("a context has more repositories than before:\n%s", got)
	}
}

func TestBadFiles(t *testing.T) {
	for _, c := range []struct{ format, text string }{
		{"sourcebot", ""}, {"sourcebot", "[]"}, {"sourcebot", "{}"}, {"sourcebot", "{} {}"}, {"sourcebot", `{"connections": {}`}, {"sourcebot", `/* {}`},
		{"zoekt-mirror", "{}"}, {"hound", "{}"}, {"hound", "null"}, {"other", "{}"}, {"hound", strings.Repeat(" ", migrate.MaxBytes+1)},
	} {
		if _, err := migrate.Convert(c.format, []byte(c.text)); !errors.Is(err, migrate.ErrFormat) {
			t.Errorf("%s %.20q: %v, want ErrFormat", c.format, c.text, err)
		}
	}
}

// FuzzConvert checks that any input yields settings that can be loaded, or an error.
func FuzzConvert(f *testing.F) {
	for i, format := range migrate.Formats {
		text, err := os.ReadFile(filepath.Join("testdata", format+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), text)
	}
	f.Add(uint8(0), []byte(`{"connections": {"\n#": {"type": "git", "url": "file:///a\n- b"}, "": null}, "settings": {"maxFileSize": -1e9}}`))
	f.Fuzz(func(t *testing.T, format uint8, text []byte) {
		r, err := migrate.Convert(migrate.Formats[int(format)%len(migrate.Formats)], text)
		if err != nil {
			return
		}
		got, err := r.YAML()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "quarry.yaml")
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		// Values may be out of bounds, but the text must be valid.
		if _, _, err := (config.Loader{File: file, WithoutSecrets: true}).Load(); err != nil && strings.Contains(err.Error(), "unknown key") {
			t.Fatalf("%v\n%s", err, got)
		}
	})
}
