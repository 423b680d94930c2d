package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// session holds the server of one script and the number of its deliveries.
type session struct {
	t          *testing.T // the test of all scripts
	server     *server
	deliveries atomic.Int64
}

type sessionKey struct{}

func sessionOf(ts *testscript.TestScript) *session { return ts.Value(sessionKey{}).(*session) }

// runningServer returns the server of the script.
func runningServer(ts *testscript.TestScript) *server {
	s := sessionOf(ts).server
	if s == nil {
		ts.Fatalf("no server runs: serve starts one")
	}
	return s
}

func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"serve":     serveCommand,
		"terminate": terminateCommand,
		"crash":     crashCommand,
		"commit":    commitCommand,
		"push":      pushCommand,
		"await":     awaitCommand,
		"until":     untilCommand,
		"capture":   captureCommand,
		"http":      httpCommand,
		"hook":      hookCommand,
		"deliver":   deliverCommand,
		"host":      hostCommand,
		"expand":    expandCommand,
		"reload":    reloadCommand,
	}
}

func cleanEnvironment(ts *testscript.TestScript) []string {
	var environ []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "QUARRY_") {
			environ = append(environ, pair)
		}
	}
	for _, name := range []string{"HOME", "QUARRY_LOG_DRIVER", "QUARRY_LOG_KAFKA_BROKERS"} {
		if value := ts.Getenv(name); value != "" {
			environ = append(environ, name+"="+value)
		}
	}
	return environ
}

func serveCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || sessionOf(ts).server != nil {
		ts.Fatalf("usage: serve [ARG...], while no server runs")
	}
	config := ts.MkAbs("quarry.yaml")
	if _, err := os.Stat(config); err != nil {
		ts.Check(os.WriteFile(config, []byte(configText(ts.MkAbs("."))), 0o600))
	}
	s, err := startServer(ts.MkAbs("."), cleanEnvironment(ts), append([]string{"--config", config, "--data", ts.MkAbs("data")}, args...)...)
	ts.Check(err)
	sessionOf(ts).server = s
	ts.Setenv("URL", s.url)
	ts.Setenv("METRICS_URL", s.metricsURL)
	ts.Setenv("QUARRY_SERVER", s.url)
	ts.Setenv("QUARRY_DATA", ts.MkAbs("data"))
}

func terminateCommand(ts *testscript.TestScript, neg bool, _ []string) {
	s := runningServer(ts)
	sessionOf(ts).server = nil
	ts.Check(s.stop())
	ts.Logf("%s", s.output)
}

func crashCommand(ts *testscript.TestScript, neg bool, _ []string) {
	s := runningServer(ts)
	sessionOf(ts).server = nil
	s.killProcess()
}

// reloadCommand makes the server reload its settings.
func reloadCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 0 || neg {
		ts.Fatalf("usage: reload")
	}
	ts.Check(runningServer(ts).cmd.Process.Signal(syscall.SIGHUP))
}

// expandCommand copies a file and replaces the variables of the script in it.
func expandCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: expand FROM TO")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}

// hostCommand starts a code host with repositories. It sets HOST to its URL, TOKEN to its
// token, and PUSH_HOST to the URL with the token.
func hostCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || neg {
		ts.Fatalf("usage: host ORGANIZATION/NAME...")
	}
	t := sessionOf(ts).t
	stub := newGiteaStub(t)
	h := &giteaHost{t: t, base: stub.url, token: stubToken}
	for _, full := range args {
		organization, name, _ := strings.Cut(full, "/")
		h.call(http.MethodPost, "orgs/"+organization+"/repos", object{"name": name, "default_branch": "main"}, nil)
	}
	ts.Setenv("HOST", stub.url)
	ts.Setenv("TOKEN", stubToken)
	ts.Setenv("PUSH_HOST", strings.Replace(stub.url, "://", "://"+stubToken+":x@", 1))
}

// commitCommand changes one file of a work tree. It creates the work tree if it is
// missing.
func commitCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: commit REPO FILE [TEXT...]")
	}
	tree := ts.MkAbs(args[0])
	if _, err := os.Stat(tree); err != nil {
		ts.Check(runGit("", "init", "-q", "-b", "main", tree))
	}
	name := filepath.Join(tree, args[1])
	if len(args) == 2 {
		ts.Check(os.Remove(name))
	} else {
		ts.Check(os.MkdirAll(filepath.Dir(name), 0o755))
		ts.Check(os.WriteFile(name, []byte(strings.Join(args[2:], " ")+"\n"), 0o644))
	}
	ts.Check(runGit(tree, "add", "-A"))
	ts.Check(runGit(tree, "commit", "-q", "-m", "change "+args[1]))
}

// runGit runs git without the configuration of the current user.
func runGit(dir string, args ...string) error {
	c := exec.Command("git", append([]string{"-c", "user.name=e2e", "-c", "user.email=e2e@localhost", "-c", "commit.gpgsign=false"}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// commitOf returns the commit of a revision, or all zeros if there is none, as hosts
// write it.
func commitOf(dir, revision string) string {
	c := exec.Command("git", "rev-parse", "--verify", "-q", revision)
	c.Dir = dir
	out, err := c.Output()
	if err != nil {
		return strings.Repeat("0", 40)
	}
	return strings.TrimSpace(string(out))
}

// pushCommand delivers the current state of a ref as a host does.
func pushCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 || neg {
		ts.Fatalf("usage: push REPO REF [BEFORE]")
	}
	tree := ts.MkAbs(args[0])
	p := push{Repository: tree, Ref: args[1], After: commitOf(tree, args[1])}
	if len(args) == 3 {
		p.Before = commitOf(tree, args[2])
	}
	id := "msg_" + ts.Name() + strconv.FormatInt(sessionOf(ts).deliveries.Add(1), 10)
	status, answer, err := deliverPush(runningServer(ts).url, id, p)
	ts.Check(err)
	if status != http.StatusAccepted {
		ts.Fatalf("push: %d: %s", status, answer)
	}
}

// deliverCommand delivers a push with an ID that the script chooses.
func deliverCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 4 || neg {
		ts.Fatalf("usage: deliver STATUS ID REPO REF")
	}
	tree := ts.MkAbs(args[2])
	status, answer, err := deliverPush(runningServer(ts).url, args[1], push{Repository: tree, Ref: args[3], After: commitOf(tree, args[3])})
	ts.Check(err)
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("deliver: %d, want %s: %s", status, args[0], answer)
	}
}

// untilCommand repeats a command until a line of its output matches.
func untilCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: until PATTERN COMMAND...")
	}
	pattern := regexp.MustCompile("(?m)" + args[0])
	var err error
	if !pollUntil(func() bool {
		err = ts.Exec(args[1], args[2:]...)
		return err == nil && pattern.MatchString(ts.ReadFile("stdout"))
	}) {
		ts.Fatalf("after %v %q prints nothing that matches %q: %v\n%s", hangDeadline, args[1:], args[0], err, runningServer(ts).output)
	}
}

// captureCommand stores the part of the last command's output that a pattern matches.
func captureCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: capture VARIABLE PATTERN")
	}
	found := regexp.MustCompile(args[1]).FindString(ts.ReadFile("stdout"))
	if found == "" {
		ts.Fatalf("nothing matches %q", args[1])
	}
	ts.Setenv(args[0], found)
}

func awaitCommand(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if err != nil || len(args) < 2 || neg {
		ts.Fatalf("usage: await N QUERY...")
	}
	s, query := runningServer(ts), strings.Join(args[1:], " ")
	var got int
	if !pollUntil(func() bool { got, err = countMatches(s.url, query); return err == nil && got == want }) {
		ts.Fatalf("after %v %q has %d matches, %v; want %d\n%s", hangDeadline, query, got, err, want, s.output)
	}
}

func httpCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 || len(args) > 4 || neg {
		ts.Fatalf("usage: http STATUS METHOD PATH-OR-URL [FILE or JSON object]")
	}
	var body []byte
	if len(args) == 4 && strings.HasPrefix(args[3], "{") {
		body = []byte(args[3])
	} else if len(args) == 4 {
		body = []byte(ts.ReadFile(args[3]))
	}
	sendScriptRequest(ts, args[0], args[1], args[2], http.Header{"Content-Type": {"application/json"}}, body)
}

func hookCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 || neg {
		ts.Fatalf("usage: hook STATUS PATH FILE [HEADER=VALUE...]")
	}
	header := http.Header{"Content-Type": {"application/json"}}
	for _, pair := range args[3:] {
		name, value, _ := strings.Cut(pair, "=")
		header.Set(name, value)
	}
	sendScriptRequest(ts, args[0], http.MethodPost, args[1], header, []byte(ts.ReadFile(args[2])))
}

// sendScriptRequest sends a request to a path of the server or to a URL, checks the status of the response and prints it.
func sendScriptRequest(ts *testscript.TestScript, want, method, path string, header http.Header, body []byte) {
	url := path
	if !strings.Contains(path, "://") {
		url = runningServer(ts).url + path
	}
	status, answer, err := sendRequest(method, url, header, body)
	ts.Check(err)
	_, _ = fmt.Fprintln(ts.Stdout(), answer)
	if strconv.Itoa(status) != want {
		ts.Fatalf("%s %s: %d, want %s: %s", method, path, status, want, answer)
	}
}
