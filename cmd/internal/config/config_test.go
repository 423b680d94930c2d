package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func writeConfigFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "quarry.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestDefaultIsValid(t *testing.T) {
	c, warnings, err := Loader{}.Load()
	if err != nil || len(warnings) > 0 {
		t.Fatalf("Load of nothing: %v %v", warnings, err)
	}
	if c.Listen != "127.0.0.1:7070" {
		t.Errorf("listen = %q, want \"127.0.0.1:7070\"", c.Listen)
	}
}

func TestPrecedence(t *testing.T) {
	file := writeConfigFile(t, "listen: 127.0.0.1:1\ndata: from-file\ncache:\n  framesBytes: 1MiB\nquery:\n  timeout: 3s\n")
	c, _, err := Loader{
		File:    file,
		Environ: []string{"QUARRY_LISTEN=127.0.0.1:2", "QUARRY_CACHE_FRAMES_BYTES=2MiB", "QUARRY_GIT_ALLOWED_ROOTS=/a, /b"},
		Set:     []string{"cache.framesBytes=3MiB"},
	}.Load()
	if err != nil {
		t.Fatal(err)
	}
	if c.Data != "from-file" || c.Listen != "127.0.0.1:2" || c.Cache.FramesBytes != 3<<20 || c.Query.Timeout != Duration(3*time.Second) {
		t.Errorf("data %q, listen %q, framesBytes %d, timeout %v", c.Data, c.Listen, c.Cache.FramesBytes, c.Query.Timeout)
	}
	if !slices.Equal(c.Git.AllowedRoots, []string{"/a", "/b"}) {
		t.Errorf("allowedRoots = %q", c.Git.AllowedRoots)
	}
	if c.Query.MaxMatches != Default().Query.MaxMatches {
		t.Error("a key next to a given one lost its default")
	}
}

func TestConnectionsFromFile(t *testing.T) {
	t.Setenv("HOOK_SECRET", "s3cret")
	c, _, err := Loader{File: writeConfigFile(t, `
connections:
  - name: company
    kind: github
    secrets: [env:HOOK_SECRET, plain-text]
    autoRegister: true
`)}.Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Connections) != 1 || c.Connections[0].Name != "company" || !c.Connections[0].AutoRegister {
		t.Fatalf("connections = %+v", c.Connections)
	}
	for i, want := range []string{"s3cret", "plain-text"} {
		if got, err := c.Connections[0].Secrets[i].Value(); got != want || err != nil {
			t.Errorf("secret %d = %q, %v", i, got, err)
		}
	}
	out, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if text := string(out); strings.Contains(text, "plain-text") || strings.Contains(text, "s3cret") || !strings.Contains(text, "hidden") {
		t.Errorf("printed configuration shows a secret:\n%s", text)
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		name, file string
		environ    []string
		set        []string
		want       []string
	}{
		{name: "unknown key", file: "listen: 127.0.0.1:1\nlisen: x\n", want: []string{"line 2", `"lisen"`, `did you mean "listen"`}},
		{name: "unknown key below", file: "git:\n  allowedRoot: [/a]\n", want: []string{"line 2", `"git.allowedRoot"`, `did you mean "git.allowedRoots"`}},
		{name: "unknown key far from all", file: "git:\n  zzzzzzzzzzzzzzzz: 1\n", want: []string{"known here: allowedProtocols"}},
		{name: "unknown key in a list", file: "connections:\n  - nme: x\n", want: []string{"line 2", `"connections.nme"`, `"connections.name"`}},
		{name: "two mistakes", file: "lisen: x\ndta: y\n", want: []string{`"listen"`, `"data"`}},
		{name: "key given twice", file: "listen: 127.0.0.1:1\nlisten: 127.0.0.1:2\n", want: []string{"listen"}},
		{name: "no YAML", file: "listen: [\n", want: []string{"quarry.yaml"}},
		{name: "wrong type", file: "log:\n  partitions: many\n", want: []string{"many"}},
		{name: "bad size", file: "cache:\n  framesBytes: 3 parsecs\n", want: []string{"3 parsecs", "64MiB"}},
		{name: "bad environment", environ: []string{"QUARRY_QUERY_TIMEOUT=soon"}, want: []string{"QUARRY_QUERY_TIMEOUT", "soon"}},
		{name: "bad flag", set: []string{"query.timout=1s"}, want: []string{"query.timout", `did you mean "query.timeout"`}},
		{name: "flag without value", set: []string{"data"}, want: []string{"path=value"}},
		{name: "role", set: []string{"roles=serve"}, want: []string{"roles", "serve", "ingest, pipeline, query"}},
		{name: "role without kafka", set: []string{"roles=query"}, want: []string{"kafka"}},
		{name: "kafka without broker", set: []string{"log.driver=kafka"}, want: []string{"log.kafka.brokers"}},
		{name: "address", set: []string{"listen=here"}, want: []string{"listen", "host:port"}},
		{name: "relative root", set: []string{"git.allowedRoots=src"}, want: []string{"git.allowedRoots", "absolute"}},
		{name: "network", set: []string{"git.allowedNetworks=10.0.0.0"}, want: []string{"git.allowedNetworks"}},
		{name: "connection", file: "connections:\n  - {name: a/b, kind: gitolite}\n", want: []string{"connections[0].name", "connections[0].kind", "connections[0].secrets"}},
		{name: "context", file: "query:\n  contexts:\n    - {name: a b}\n    - {name: c, include: ['']}\n    - {name: c, include: ['**']}\n", want: []string{"query.contexts[0].name", "query.contexts[0].include", "query.contexts[1]: ", "given twice"}},
		{name: "package", file: "scip:\n  packages:\n    - {package: npm, repository: a}\n    - {package: 'npm *x'}\n    - {package: npm a, repository: a}\n    - {package: npm a, repository: b}\n", want: []string{"scip.packages[0].package", "scip.packages[1].package", "scip.packages[1].repository", "given twice"}},
		{name: "duration without unit", file: "query: {timeout: 30}\n", want: []string{"[1:18]", "query.timeout", "30s or 5m"}},
		{name: "wrong type names its key", file: "listen: 127.0.0.1:1\nlog:\n  partitions: many\n", want: []string{"[3:15]", "log.partitions", "whole number"}},
		{name: "fraction of a byte", file: "cache:\n  framesBytes: 1.5\n", want: []string{"[2:16]", "cache.framesBytes", "64MiB"}},
		{name: "two wrong types", file: "log:\n  partitions: many\nquery:\n  timeout: soon\n", want: []string{"[2:15]", "log.partitions", "[4:12]", "query.timeout"}},
		{name: "type in a list", file: "connections:\n  - {name: a, kind: github, autoRegister: sure}\n", want: []string{"[2:", "connections[0].autoRegister", "neither true nor false"}},
		{name: "value for a section", file: "log: x\n", want: []string{"line 1", "log is a value", "want a section with driver"}},
		{name: "list for a section", file: "data: d\ngit: [a]\n", want: []string{"line 2", "git is a list", "want a section"}},
		{name: "list for a value", file: "listen: [a]\n", want: []string{"line 1", "listen is a list", "want a value"}},
		{name: "value for a list", file: "roles: query\n", want: []string{"line 1", "roles is a value", "want a list"}},
		{name: "connections of the peer", file: "connections: {}\n", want: []string{"line 1", "connections is a section", "want a list", "- name: NAME", "quarry migrate"}},
		{name: "connection of the peer", file: "connections:\n  github: {type: github}\n", want: []string{"line 1", "want a list", "quarry migrate"}},
		{name: "connection as text", file: "connections:\n  - github\n", want: []string{"line 2", "connections has an item", "want a section with name"}},
		{name: "sections as a section", file: "query:\n  contexts: {}\n", want: []string{"line 2", "query.contexts", "- name:"}},
		{name: "list as the file", file: "- a\n", want: []string{"line 1", "want keys and values"}},
		{name: "port", file: "listen: 127.0.0.1:99999\n", want: []string{"listen", "99999", "65535"}},
		{name: "public URL with a path that is Quarry's own", file: "publicUrl: https://code.example.org/api/quarry\n", want: []string{"publicUrl", `"/api/quarry"`, "own pages"}},
		{name: "public URL with an odd path", set: []string{"publicUrl=https://code.example.org/a%20b/"}, want: []string{"publicUrl", `"/a%20b"`, "such as /quarry"}},
		{name: "public URL with a query", set: []string{"publicUrl=https://code.example.org/?x=1"}, want: []string{"publicUrl", "query"}},
		{name: "public URL with a fragment", set: []string{"publicUrl=https://code.example.org#x"}, want: []string{"publicUrl", "fragment"}},
		{name: "public URL with a user", set: []string{"publicUrl=https://u:s3cret@code.example.org"}, want: []string{"publicUrl", "user"}},
		{name: "certificate without its key", set: []string{"tls.certFile=a.pem"}, want: []string{"tls", "keyFile"}},
		{name: "http with a certificate", set: []string{"tls.certFile=a.pem", "tls.keyFile=b.pem", "publicUrl=http://code.example"}, want: []string{"publicUrl", "https"}},
		{name: "port of metrics", set: []string{"metricsListen=127.0.0.1:70000"}, want: []string{"metricsListen", "65535"}},
		{name: "port of a broker", set: []string{"log.driver=kafka", "log.kafka.brokers=a:99999"}, want: []string{"log.kafka.brokers", "a:99999"}},
		{name: "flag near nothing", set: []string{"foo=1"}, want: []string{"foo", "--print-config"}},
		{name: "flag without its section", set: []string{"segmentBytes=1MiB"}, want: []string{"did you mean", "pipeline.segmentBytes"}},
		{name: "flag of a section", set: []string{"log=x"}, want: []string{"section", "log.driver"}},
		{name: "flag of connections", set: []string{"connections=x"}, want: []string{"only", "file"}},
		{name: "unknown key of a context", file: "query:\n  contexts:\n    - {name: a, includes: ['**']}\n", want: []string{"line 3", `"query.contexts.include"`}},
		{name: "ratio", set: []string{"tracing.sampleRatio=1.5"}, want: []string{"tracing.sampleRatio", "1.5", "from 0 to 1"}},
		{name: "no ratio", set: []string{"tracing.sampleRatio=NaN"}, want: []string{"tracing.sampleRatio", "from 0 to 1"}},
		{name: "collector", file: "tracing:\n  endpoint: https://u:s3cret@collector.example\n  certFile: a.pem\n  headers: [{name: a b, value: x}, {name: A}]\n", want: []string{"tracing.endpoint", "credentials in tracing.headers", "keyFile", "tracing.headers[0].name", "tracing.headers[1].value"}},
		{name: "traces for no collector", set: []string{"tracing.trustCallers=true"}, want: []string{"set tracing.endpoint"}},
		{name: "provider", file: "access:\n  oidc:\n    - {name: a, issuer: 'http://id.example.com', clientId: q}\n    - {name: b, issuer: 'https://id.example.com', clientId: q, clientSecret: 'env:QUARRY_NO_SUCH_VARIABLE'}\n    - {name: b, issuer: 'https://id.example.com'}\n", want: []string{"access.oidc[0]: ", "want https", "access.oidc[1].clientSecret", "QUARRY_NO_SUCH_VARIABLE", "access.oidc[2].name", "access.oidc[2]: clientId"}},
		{name: "unknown key of a provider", file: "access:\n  oidc:\n    - {name: a, clientID: q}\n", want: []string{"line 3", `did you mean "access.oidc.clientId"`}},
		{name: "secret of another notation", file: "connections:\n  - {name: a, kind: github, secrets: ['${HOOK_SECRET}']}\n", want: []string{"connections[0].secrets", "write env:HOOK_SECRET"}},
		{name: "secret that is not set", file: "connections:\n  - {name: a, kind: github, secrets: ['env:QUARRY_NO_SUCH_VARIABLE']}\n", want: []string{"QUARRY_NO_SUCH_VARIABLE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := Loader{Environ: c.environ, Set: c.set}
			if c.file != "" {
				l.File = writeConfigFile(t, c.file)
			}
			_, _, err := l.Load()
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("Load = %v, want ErrInvalid", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestMissingFile(t *testing.T) {
	if _, _, err := (Loader{File: "no/such/file.yaml"}).Load(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Load = %v, want ErrNotExist", err)
	}
}

func TestUnknownVariableIsAWarning(t *testing.T) {
	_, warnings, err := Loader{Environ: []string{"QUARRY_LISTN=127.0.0.1:1", "QUARRY_REQUIRE_ALL=1"}}.Load()
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "QUARRY_LISTEN") {
		t.Errorf("warnings %q, %v", warnings, err)
	}
}

func TestPrintedConfigurationLoadsAgain(t *testing.T) {
	c := Default()
	text, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := Loader{File: writeConfigFile(t, string(text))}.Load()
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if second, _ := again.YAML(); string(second) != string(text) {
		t.Errorf("printed again:\n%s\nfirst:\n%s", second, text)
	}
}

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		text string
		want Bytes
		back string
	}{{"0", 0, "0"}, {"1", 1, "1B"}, {"1536", 1536, "1536B"}, {"64MiB", 64 << 20, "64MiB"}, {"64 KiB", 64 << 10, "64KiB"}, {"1TiB", 1 << 40, "1TiB"}} {
		var n Bytes
		if err := n.UnmarshalText([]byte(c.text)); err != nil || n != c.want {
			t.Errorf("%q = %d, %v, want %d, nil", c.text, n, err, c.want)
		}
		if b, _ := n.MarshalText(); string(b) != c.back {
			t.Errorf("%d is written %q", n, b)
		}
	}
	for _, text := range []string{"", "-1", "MiB", "1.5GiB", "9999999999TiB", "1MB"} {
		if err := new(Bytes).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestSecretNeverPrints(t *testing.T) {
	s := NewSecret("hunter2")
	for _, text := range []string{s.String(), s.GoString()} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("a secret prints as %q", text)
		}
	}
	name := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(name, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := NewSecret("file:" + name).Value(); got != "hunter2" || err != nil {
		t.Errorf("from a file: %q, %v", got, err)
	}
}

func TestEnvName(t *testing.T) {
	if got := envName("ingest.maxBodyBytes"); got != "QUARRY_INGEST_MAX_BODY_BYTES" {
		t.Error(got)
	}
}
