package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCloneIsChecked(t *testing.T) {
	t.Setenv("QUARRY_TEST_TOKEN", "hunter2")
	t.Setenv("QUARRY_TEST_PROXY", "http://gate:hunter2@proxy.example:3128")
	t.Setenv("QUARRY_TEST_WRONG_PROXY", "socks5://gate:hunter2@proxy.example")
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, known := write("key", []byte("hunter2")), write("known", nil)
	ca := write("ca.pem", makeCertificate(t))
	for _, c := range []struct{ name, text, want string }{
		{"a token for git", `clone: {token: "env:QUARRY_TEST_TOKEN", user: bot}`, ""},
		{"a key", `clone: {sshKeyFile: "` + key + `", knownHostsFile: "` + known + `", sshHost: "ssh.example:2222"}`, ""},
		{"a proxy and authorities", `proxy: "env:QUARRY_TEST_PROXY", caFile: "` + ca + `"`, ""},
		{"a proxy without a password in place", `proxy: "http://proxy.example:3128"`, ""},
		{"a token in place", `clone: {token: hunter2}`, "clone.token: a token is never given in place"},
		{"a proxy with a password in place", `proxy: "http://gate:hunter2@proxy.example:3128"`, "proxy: a password is never given in place"},
		{"another kind of proxy", `proxy: "env:QUARRY_TEST_WRONG_PROXY"`, "proxy: want the URL of an HTTP proxy"},
		{"a proxy that is not set", `proxy: "env:QUARRY_TEST_ABSENT"`, "proxy: the environment variable QUARRY_TEST_ABSENT"},
		{"a key without known hosts", `clone: {sshKeyFile: "` + key + `"}`, "clone.knownHostsFile: sshKeyFile needs it"},
		{"known hosts without a key", `clone: {knownHostsFile: "` + known + `"}`, "clone.sshKeyFile: knownHostsFile and sshHost need it"},
		{"a key and a token", `clone: {sshKeyFile: "` + key + `", knownHostsFile: "` + known + `", token: "env:QUARRY_TEST_TOKEN"}`, "give either token or sshKeyFile"},
		{"a key and a proxy", `proxy: "env:QUARRY_TEST_PROXY", clone: {sshKeyFile: "` + key + `", knownHostsFile: "` + known + `"}`, "git by SSH does not go through it"},
		{"a key that is not there", `clone: {sshKeyFile: "` + dir + `/absent", knownHostsFile: "` + known + `"}`, "clone.sshKeyFile: "},
		{"a key with a token of ssh", `clone: {sshKeyFile: "/%d/key", knownHostsFile: "` + known + `"}`, "ssh gives them a meaning"},
		{"a directory", `clone: {sshKeyFile: "` + dir + `", knownHostsFile: "` + known + `"}`, "is no file"},
		{"authorities that are none", `caFile: "` + key + `"`, "holds no certificate"},
		{"a host with an option", `clone: {sshKeyFile: "` + key + `", knownHostsFile: "` + known + `", sshHost: "-oProxyCommand=id"}`, "clone.sshHost: want a host"},
	} {
		_, _, err := Loader{File: writeConfigFile(t, "connections: [{name: a, kind: gitlab, discover: {all: true}, "+c.text+"}]")}.Load()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%s: a secret is shown: %v", c.name, err)
		}
	}
	_, _, err := Loader{File: writeConfigFile(t, `connections: [{name: a, kind: gerrit, url: "https://review.example", discover: {all: true}, token: "env:QUARRY_TEST_TOKEN"}]`)}.Load()
	if err == nil || !strings.Contains(err.Error(), "gerrit wants the user of the HTTP password") {
		t.Errorf("gerrit without a user: %v", err)
	}
}

// makeCertificate returns a certificate in PEM.
func makeCertificate(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
