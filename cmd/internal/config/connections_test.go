package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConnectionsAreChecked(t *testing.T) {
	t.Setenv("QUARRY_TEST_TOKEN", "hunter2")
	key := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"discovery without webhooks", "kind: github, discover: {orgs: [o]}", ""},
		{"a token by environment", "kind: gitlab, token: \"env:QUARRY_TEST_TOKEN\", discover: {all: true}", ""},
		{"an app", "kind: github, app: {id: 7, privateKey: \"file:" + key + "\"}, discover: {all: true}", ""},
		{"sizes", "kind: azuredevops, discover: {orgs: [o]}, exclude: {maxSize: 10MiB, disabled: true}", ""},
		{"a token in place", "kind: gitlab, token: hunter2, discover: {all: true}", "connections[0].token: a token is never given in place"},
		{"a key in place", "kind: github, app: {id: 7, privateKey: hunter2}, discover: {orgs: [o]}", "connections[0].app.privateKey: a key is never given in place"},
		{"a token that is not set", "kind: gitlab, token: \"env:QUARRY_TEST_ABSENT\", discover: {all: true}", "connections[0].token: the environment variable QUARRY_TEST_ABSENT"},
		{"neither webhooks nor discovery", "kind: github", "connections[0].secrets: at least one is needed"},
		{"a key of another kind", "kind: github, discover: {groups: [g]}", "connections[0].discover.groups: github does not have it; it is for gitlab"},
		{"an exclusion of another kind", "kind: gerrit, discover: {all: true}, exclude: {forks: true}", "connections[0].exclude.forks: gerrit does not have it"},
		{"all of github.com", "kind: github, discover: {all: true}", "connections[0].discover.all: github: all means"},
		{"token and app", "kind: github, token: \"env:QUARRY_TEST_TOKEN\", app: {id: 7, privateKey: \"file:" + key + "\"}, discover: {orgs: [o]}", "give either token or app"},
		{"an app of another kind", "kind: gitlab, app: {id: 7, privateKey: \"file:" + key + "\"}, discover: {all: true}", "gitlab has no GitHub Apps"},
		{"half an app", "kind: github, app: {installation: 7}, discover: {orgs: [o]}", "want id and privateKey"},
		{"sizes that leave nothing", "kind: github, discover: {orgs: [o]}, exclude: {minSize: 2MiB, maxSize: 1MiB}", "nothing is left"},
		{"topics alone", "kind: github, secrets: [s], discover: {topics: [go]}", "topics select among"},
		{"an empty name", "kind: github, discover: {orgs: [\"\"]}", "want 1 to 2048 bytes"},
		{"permissions by address", "kind: gitlab, token: \"env:QUARRY_TEST_TOKEN\", discover: {all: true}, permissions: {read: true, emails: true, interval: 1h, maxAge: 2h}", ""},
		{"permissions without a join", "kind: github, token: \"env:QUARRY_TEST_TOKEN\", discover: {orgs: [o]}, permissions: {read: true}", "connections[0].permissions.provider: users cannot be matched"},
		{"a provider that is not there", "kind: github, token: \"env:QUARRY_TEST_TOKEN\", discover: {orgs: [o]}, permissions: {read: true, provider: nobody}", "access.oidc has no provider \"nobody\""},
		{"permissions that are not read", "kind: github, token: \"env:QUARRY_TEST_TOKEN\", discover: {orgs: [o]}, permissions: {interval: 1h}", "connections[0].permissions.read: the other keys have no effect"},
		{"permissions without a token", "kind: gitlab, discover: {users: [u]}, permissions: {read: true, emails: true}", "connections[0].permissions.read: reading permissions needs a token"},
		{"permissions without repositories", "kind: gitlab, token: \"env:QUARRY_TEST_TOKEN\", secrets: [s], permissions: {read: true, emails: true}", "set it"},
		{"permissions too often", "kind: gitlab, token: \"env:QUARRY_TEST_TOKEN\", discover: {all: true}, permissions: {read: true, emails: true, interval: 1m}", "connections[0].permissions.interval: 1m0s is too short"},
		{"permissions that are always too old", "kind: gitlab, token: \"env:QUARRY_TEST_TOKEN\", discover: {all: true}, permissions: {read: true, emails: true, interval: 1h, maxAge: 1h}", "connections[0].permissions.maxAge"},
		{"permissions of another kind", "kind: gerrit, url: \"https://review.example.org\", token: \"env:QUARRY_TEST_TOKEN\", discover: {all: true}, permissions: {read: true}", "gerrit does not have it; it is for github, gitlab, gitea, bitbucketServer, bitbucketCloud"},
		{"addresses in place of secrets", "kind: gerrit, url: \"https://review.example.org\", addresses: [10.0.0.5, \"fd00::/8\"]", ""},
		{"addresses of another kind", "kind: github, secrets: [s], addresses: [10.0.0.5]", "connections[0].addresses: github signs its deliveries: set secrets"},
		{"names in place of addresses", "kind: gerrit, url: \"https://review.example.org\", addresses: [review.example.org]", "connections[0].addresses: \"review.example.org\" is no address or network"},
		{"pages elsewhere", "kind: gitlab, discover: {all: true}, webUrl: \"https://pages.example.org/gitlab\"", ""},
		{"pages of another kind", "kind: gitea, discover: {all: true}, webUrl: \"https://pages.example.org\"", "connections[0].webUrl: gitea does not have it"},
		{"pages that cannot be opened", "kind: gitlab, discover: {all: true}, webUrl: \"javascript:alert(1)\"", "connections[0].webUrl: want the base URL"},
		{"a URL with a password", "kind: gitea, url: \"https://u:hunter2@git.example.org\", discover: {all: true}", "connections[0].url: want the base URL of the host without a user"},
	} {
		_, _, err := Loader{File: writeConfigFile(t, "connections: [{name: a, "+c.text+"}]")}.Load()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%s: a secret is shown: %v", c.name, err)
		}
	}
}
