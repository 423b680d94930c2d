package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
)

type upgradeSampleTask struct {
	Ref          string `required:"" help:"Commit of the release that writes the data directory."`
	Out          string `required:"" help:"Archive to write, .tar.gz."`
	Repositories string `default:"/srv/git" help:"Where its repositories are: a path that is in the sample. It must not exist, and is removed again."`
	Listen       string `default:"127.0.0.1:7099" help:"Where the old server listens."`
}

// sampleNote is the file SAMPLE.json of a sample, with the values that a test cannot know
// otherwise.
type sampleNote struct {
	Commit   string `json:"commit"`
	Key      string `json:"key"`
	Email    string `json:"email"`
	Password string `json:"password"`
}

// sampleRepositories returns the files of the repositories, by commit. One has so many
// files that its first import writes a manifest object.
func sampleRepositories() map[string][]map[string]string {
	leaves := map[string]string{}
	for n := range event.MaxInlineChanges + 10 {
		leaves[fmt.Sprintf("leaves/%04d.txt", n)] = fmt.Sprintf("leaf %d\n", n)
	}
	return map[string][]map[string]string{
		"kettle":  {{"src/boil.go": "package kettle\n\n// Boil heats the water.\nfunc Boil() int { return 100 }\n"}, {"src/pour.go": "package kettle\n\nfunc Pour() string { return \"teapot\" }\n"}},
		"meadow":  {{"README.md": "# Meadow\n\nClover and buttercups.\n", "bees.py": "def hum():\n    return 'buzzword'\n"}},
		"thicket": {leaves},
	}
}

// Run implements the task. It builds the release from its commit, indexes two
// repositories, creates an owner, a key and a decision, runs searches, and packs the data
// directory without the parts that can be recreated.
func (u *upgradeSampleTask) Run(ctx context.Context) (err error) {
	dir, err := filepath.Abs(".cache/upgrade-sample")
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return err
	}
	s := &sampleServer{u: u, quarry: filepath.Join(dir, "quarry"), data: filepath.Join(dir, "data"), base: "http://" + u.Listen, repositories: sampleRepositories()}
	err = withCommit(ctx, u.Ref, filepath.Join(dir, "tree"), func(tree string) error {
		if _, err := runOutput(ctx, tree, "go", "build", "-o", s.quarry, "./cmd/quarry"); err != nil {
			return err
		}
		var err error
		s.note.Commit, err = runOutput(ctx, tree, "git", "rev-parse", "HEAD")
		return err
	})
	if err != nil {
		return err
	}
	if _, err := os.Stat(u.Repositories); err == nil {
		return fmt.Errorf("%s exists: name another path with --repositories", u.Repositories)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(u.Repositories)) }()
	// Run twice, so that the stores contain tables and a log of the latest changes.
	for _, fill := range []func(context.Context) error{s.indexRepositories, s.makeAccounts} {
		if err := s.runServer(ctx, fill); err != nil {
			return err
		}
	}
	return packSample(u.Out, s.data, &s.note)
}

// sampleServer is a server of the old release.
type sampleServer struct {
	u                  *upgradeSampleTask
	quarry, data, base string
	note               sampleNote
	repositories       map[string][]map[string]string // files by commit
}

// runServer runs the old release while fill sends requests to it.
func (s *sampleServer) runServer(ctx context.Context, fill func(context.Context) error) error {
	server := exec.Command(s.quarry, "serve", "--data", s.data, "--listen", s.u.Listen, "--git-root", s.u.Repositories, "--set", "git.allowedProtocols=file")
	log, err := os.Create(s.logPath())
	if err != nil {
		return err
	}
	defer log.Close()
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		return err
	}
	err = waitReady(ctx, s.base+"/readyz")
	if err == nil {
		err = fill(ctx)
	}
	err = errors.Join(err, server.Process.Signal(os.Interrupt), server.Wait())
	if err != nil {
		return fmt.Errorf("%w; see %s", err, s.logPath())
	}
	return nil
}

func (s *sampleServer) logPath() string { return s.data + ".log" }

// indexRepositories imports the repositories, and then a second commit of one of them.
func (s *sampleServer) indexRepositories(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(s.repositories)) {
		if err := s.writeCommit(ctx, name, 0); err != nil {
			return err
		}
		if err := s.runCommand(ctx, "index", "--name", name, filepath.Join(s.u.Repositories, name)); err != nil {
			return err
		}
	}
	if err := s.writeCommit(ctx, "kettle", 1); err != nil {
		return err
	}
	return s.runCommand(ctx, "verify", "--remote", "--repair")
}

func (s *sampleServer) runCommand(ctx context.Context, args ...string) error {
	_, err := runOutput(ctx, ".", s.quarry, append([]string{args[0], "--server", s.base, "--data", s.data}, args[1:]...)...)
	return err
}

// writeCommit writes the nth commit of a repository, which is always the same.
func (s *sampleServer) writeCommit(ctx context.Context, name string, n int) error {
	dir := filepath.Join(s.u.Repositories, name)
	for path, text := range s.repositories[name][n] {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return err
		}
	}
	date := time.Date(2026, 3, 4, 5, 6, n, 0, time.UTC).Format(time.RFC3339)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-qm", fmt.Sprint("Commit ", n), "--date", date}} {
		git := exec.CommandContext(ctx, "git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.org"}, args...)...)
		git.Dir, git.Env = dir, append(os.Environ(), "GIT_COMMITTER_DATE="+date)
		if out, err := git.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

var setupToken = regexp.MustCompile(`[?&]token=(qo_[0-9a-f]+)`)

// makeAccounts creates the owner, a key, a decision on who may see a repository, and
// entries of the audit log.
func (s *sampleServer) makeAccounts(ctx context.Context) error {
	token, err := s.waitSetupToken(ctx)
	if err != nil {
		return err
	}
	s.note.Email, s.note.Password = "ada@example.org", "correct horse battery"
	cookie, _, err := s.sendRequest(ctx, http.MethodPost, "/api/auth/setup", "", map[string]any{"value": token, "email": s.note.Email, "name": "Ada", "password": s.note.Password})
	if err != nil {
		return err
	}
	_, answer, err := s.sendRequest(ctx, http.MethodPost, "/api/keys", cookie, map[string]any{"name": "sample", "scopes": []string{"search", "git", "admin"}})
	if err != nil {
		return err
	}
	var key struct{ Key string }
	if err := json.Unmarshal(answer, &key); err != nil {
		return err
	}
	s.note.Key = key.Key
	_, answer, err = s.sendRequest(ctx, http.MethodGet, "/api/repos?query=meadow", key.Key, nil)
	if err != nil {
		return err
	}
	var repositories []struct{ RepoID int64 }
	if err := json.Unmarshal(answer, &repositories); err != nil || len(repositories) != 1 {
		return fmt.Errorf("repositories %s: %w", answer, err)
	}
	_, _, err1 := s.sendRequest(ctx, http.MethodPut, fmt.Sprintf("/api/repos/%d/access", repositories[0].RepoID), key.Key, map[string]any{"visibility": "private"})
	_, _, err2 := s.sendRequest(ctx, http.MethodPost, "/api/search", key.Key, map[string]any{"query": "teapot", "matches": 10})
	return errors.Join(err1, err2)
}

// waitSetupToken returns the token in the link for the first owner. A server offers the
// link once it has read its accounts.
func (s *sampleServer) waitSetupToken(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		log, err := os.ReadFile(s.logPath()) // older releases write the link to their log
		if err != nil {
			return "", err
		}
		if token := setupToken.FindStringSubmatch(operator.SetupLink(s.data) + string(log)); token != nil {
			return token[1], nil
		}
		if err := clock.Sleep(ctx, 50*time.Millisecond); err != nil {
			return "", fmt.Errorf("the old server offers no link for the first owner: %w", err)
		}
	}
}

// sendRequest sends a request with a cookie or a key, and returns the cookie and the body.
func (s *sampleServer) sendRequest(ctx context.Context, method, path, credential string, body any) (cookie string, answer []byte, err error) {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return "", nil, err
		}
		in = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.base+path, in)
	if err != nil {
		return "", nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if strings.Contains(credential, "=") {
		r.Header.Set("Cookie", credential)
	} else if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 400 {
		err = fmt.Errorf("%s %s: %d %s", method, path, response.StatusCode, answer)
	}
	cookie, _, _ = strings.Cut(response.Header.Get("Set-Cookie"), ";")
	return cookie, answer, err
}
