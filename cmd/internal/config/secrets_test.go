package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withSecrets contains a secret of every kind. Secrets that are set directly contain
// hunter2.
const withSecrets = `
log:
  driver: kafka
  kafka:
    brokers: [127.0.0.1:1]
    sasl: {mechanism: plain, username: u, password: "env:QUARRY_TEST_PASSWORD"}
access:
  secret: file:/nonexistent/secret
  oidc:
    - {name: company, issuer: "https://id.example.com", clientId: q, clientSecret: "env:QUARRY_TEST_EMPTY"}
connections:
  - {name: a, kind: github, secrets: [hunter2, "env:QUARRY_TEST_SET"]}
`

// TestSettingsWithoutSecrets checks that the settings can be printed where the secrets
// are missing, for example by a job that checks the file.
func TestSettingsWithoutSecrets(t *testing.T) {
	t.Setenv("QUARRY_TEST_SET", "hunter2")
	t.Setenv("QUARRY_TEST_EMPTY", "")
	l := Loader{File: writeConfigFile(t, withSecrets)}
	_, _, err := l.Load()
	for _, path := range []string{"log.kafka.sasl.password", "access.secret", "access.oidc[0].clientSecret"} {
		if err == nil || !strings.Contains(err.Error(), path+": ") {
			t.Errorf("with the secrets %s is not missed: %v", path, err)
		}
	}
	l.WithoutSecrets = true
	c, _, err := l.Load()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	for _, want := range []string{
		"env:QUARRY_TEST_PASSWORD (not set)", "file:/nonexistent/secret (cannot be read)", "env:QUARRY_TEST_EMPTY (empty)", "- hidden\n", "- env:QUARRY_TEST_SET\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "hunter2") {
		t.Errorf("a secret is printed:\n%s", text)
	}
	// The output is a settings file. Only its references differ from the input.
	if _, _, err := (Loader{File: writeConfigFile(t, text), WithoutSecrets: true}).Load(); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
}

// TestMistakesShowNoSecret checks that an error shows the mistake and none of the lines
// around it.
func TestMistakesShowNoSecret(t *testing.T) {
	for name, file := range map[string]string{
		"the line after":       "connections:\n  - name: a\n    kind: github\n    secrets: [hunter2]\n    autoRegister: maybe\n",
		"the line before":      "log:\n  partitions: many\naccess:\n  secret: hunter2\n",
		"no end":               "access:\n  secret: hunter2\n  oidc: [ {\n",
		"a secret for a list":  "connections:\n  - name: a\n    kind: github\n    secrets: hunter2\n",
		"a secret for a map":   "access: hunter2\n",
		"no text":              "access:\n  secret: {hunter2: 1}\n",
		"the end of a text":    "access:\n  secret: 'hunter2\n",
		"a secret given twice": "access:\n  secret: hunter2\n  secret: hunter2\n",
		"too short":            "access:\n  secret: hunter2\n",
		"a tab":                "access:\n\tsecret: hunter2\n",
	} {
		_, _, err := Loader{File: writeConfigFile(t, file)}.Load()
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := (Loader{File: writeConfigFile(t, "log:\n  partitions: many\n")}).Load(); err == nil || !strings.Contains(err.Error(), `[2:15]`) || !strings.Contains(err.Error(), `"many"`) {
		t.Errorf("a mistake without its place or its value: %v", err)
	}
}

func TestWarningsOfSecrets(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, mode os.FileMode, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long := strings.Repeat("s3cr3t", 8)
	shared, group := file("shared", 0o644, long), file("group", 0o640, long)
	plain := "connections: [{name: a, kind: github, secrets: [x]}]\n"
	for name, c := range map[string]struct {
		loader Loader
		want   string
	}{
		"a file for everybody":      {Loader{Set: []string{"access.secret=file:" + shared}}, "may read " + shared + ", which holds access.secret: chmod 600 " + shared},
		"a file for a group":        {Loader{Set: []string{"access.secret=file:" + group}}, ""},
		"settings for everybody":    {Loader{File: file("open.yaml", 0o644, plain)}, "which holds secrets: chmod 600"},
		"settings for one":          {Loader{File: file("closed.yaml", 0o600, plain)}, ""},
		"settings without a secret": {Loader{File: file("none.yaml", 0o644, "listen: 127.0.0.1:1\n")}, ""},
		"an argument":               {Loader{Set: []string{"access.secret=" + long}}, "access.secret, which is an argument of the process"},
	} {
		_, warnings, err := c.loader.Load()
		text := strings.Join(warnings, "\n")
		if err != nil || (text == "") != (c.want == "") || !strings.Contains(text, c.want) || strings.Contains(text, long) {
			t.Errorf("%s: %q, %v", name, warnings, err)
		}
	}
}
