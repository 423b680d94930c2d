package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/loopback"
)

// gerritPassword is the administrator's HTTP password in a development site.
const gerritPassword = "secret"

// gerritServer is a real Gerrit on loopback.
type gerritServer struct {
	t        *testing.T
	base     string // without a trailing slash
	sshPort  string
	identity string // SSH key of the administrator
	output   *buffer
}

// startGerrit creates a development site and runs it until the test ends. Without the
// jars or Java 21 it skips the test, or fails it if QUARRY_REQUIRE_ALL=1.
func startGerrit(t *testing.T) *gerritServer {
	t.Helper()
	java, libs, err := findGerrit()
	if err != nil && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skip(err)
	}
	must(t, err)
	web, err := loopback.FreeAddress()
	must(t, err)
	ssh, err := loopback.FreeAddress()
	must(t, err)
	site := filepath.Join(t.TempDir(), "site")
	g := &gerritServer{
		t: t, base: "http://" + web, sshPort: ssh[strings.LastIndex(ssh, ":")+1:], output: new(buffer), identity: filepath.Join(t.TempDir(), "key"),
	}
	program := func(args ...string) *exec.Cmd {
		c := exec.Command(java, append([]string{"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(libs, "*"), "com.google.gerrit.launcher.GerritLauncher"}, args...)...)
		c.Stdout, c.Stderr = g.output, g.output
		return c
	}
	if err := program("init", "-d", site, "--batch", "--no-auto-start", "--dev").Run(); err != nil {
		t.Fatalf("init: %v\n%s", err, g.output)
	}
	g.setAddresses(filepath.Join(site, "etc", "gerrit.config"), web, ssh)
	g.runDaemon(program("daemon", "-d", site, "--console-log"))
	g.addKey()
	return g
}

// findGerrit returns the path of Java 21 or newer and the directory of Gerrit's jars.
func findGerrit() (java, libs string, err error) {
	java, libs = os.Getenv("QUARRY_GERRIT_JAVA"), os.Getenv("QUARRY_GERRIT_LIBS")
	if java == "" {
		java = "java"
	}
	if libs == "" {
		if libs, err = filepath.Abs("../../.cache/gerrit/libs"); err != nil {
			return "", "", err
		}
	}
	if jars, err := filepath.Glob(filepath.Join(libs, "gerrit-acceptance-framework-*.jar")); err != nil || len(jars) == 0 {
		return "", "", fmt.Errorf("no jars of Gerrit in %s: fetch them as deploy/gerrit/pom.xml says, or name their directory in QUARRY_GERRIT_LIBS", libs)
	}
	out, err := exec.Command(java, "-version").CombinedOutput()
	if err != nil {
		return "", "", fmt.Errorf("%s -version: %w; name Java 21 or newer in QUARRY_GERRIT_JAVA", java, err)
	}
	var major int
	if _, text, found := bytes.Cut(out, []byte(`version "`)); !found {
		return "", "", fmt.Errorf("%s has no version: %s", java, out)
	} else if _, err := fmt.Sscanf(string(text), "%d", &major); err != nil || major < 21 {
		return "", "", fmt.Errorf("%s is Java %d; name Java 21 or newer in QUARRY_GERRIT_JAVA", java, major)
	}
	return java, libs, nil
}

// setAddresses makes Gerrit listen only on loopback.
func (g *gerritServer) setAddresses(file, web, ssh string) {
	g.t.Helper()
	for _, setting := range [][2]string{{"gerrit.canonicalWebUrl", g.base + "/"}, {"httpd.listenUrl", "http://" + web + "/"}, {"sshd.listenAddress", ssh}} {
		must(g.t, runGit("", "config", "-f", file, setting[0], setting[1]))
	}
}

// runDaemon starts Gerrit and waits until it answers.
func (g *gerritServer) runDaemon(daemon *exec.Cmd) {
	g.t.Helper()
	if err := daemon.Start(); err != nil {
		g.t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = daemon.Wait() // it is killed at the end of the test
		close(exited)
	}()
	g.t.Cleanup(func() {
		_ = daemon.Process.Kill() // it may have ended already; nothing of its site is used again
		<-exited
	})
	hasExited := func() bool {
		select {
		case <-exited:
			return true
		default:
			return false
		}
	}
	if !pollUntil(func() bool {
		response, err := http.Get(g.base + "/config/server/version")
		if err == nil {
			_ = response.Body.Close()
		}
		return hasExited() || err == nil && response.StatusCode == http.StatusOK
	}) || hasExited() {
		g.t.Fatalf("Gerrit did not start\n%s", g.output)
	}
}

// request calls the REST API as the administrator.
func (g *gerritServer) request(method, path, contentType string, body []byte) []byte {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), method, g.base+"/a/"+path, bytes.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.SetBasicAuth("admin", gerritPassword)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil || response.StatusCode/100 != 2 {
		g.t.Fatalf("%s %s: %d %s, %v", method, path, response.StatusCode, answer, err)
	}
	return answer
}

// call is request with a JSON body.
func (g *gerritServer) call(method, path string, body any) {
	g.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		g.t.Fatal(err)
	}
	g.request(method, path, "application/json", text)
}

// addKey creates an SSH key for the administrator.
func (g *gerritServer) addKey() {
	g.t.Helper()
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", g.identity).CombinedOutput(); err != nil {
		g.t.Fatalf("ssh-keygen: %v %s", err, out)
	}
	public, err := os.ReadFile(g.identity + ".pub")
	if err != nil {
		g.t.Fatal(err)
	}
	g.request(http.MethodPost, "accounts/self/sshkeys", "text/plain", public)
}

// streamEvents calls handle with each event that Gerrit streams over SSH, until the test
// ends. It returns once the stream is open.
func (g *gerritServer) streamEvents(handle func(line []byte)) {
	g.t.Helper()
	c := exec.Command("ssh", "-v", "-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "IdentitiesOnly=yes",
		"-o", "BatchMode=yes", "-i", g.identity, "-p", g.sshPort, "admin@127.0.0.1", "gerrit", "stream-events")
	said := new(buffer)
	c.Stderr = said
	out, err := c.StdoutPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		g.t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		readLines(out, handle)
	}()
	g.t.Cleanup(func() {
		_ = c.Process.Kill() // the stream does not end otherwise
		<-read
		if err := c.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			g.t.Error(err)
		}
	})
	if !pollUntil(func() bool { return strings.Contains(said.String(), "Sending command: gerrit stream-events") }) {
		g.t.Fatalf("no stream: %s", said)
	}
}
