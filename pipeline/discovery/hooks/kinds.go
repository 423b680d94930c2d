package hooks

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/bitbucketcloud"
	"github.com/quarrysearch/quarry/pipeline/discovery/bitbucketserver"
	"github.com/quarrysearch/quarry/pipeline/discovery/gitea"
	"github.com/quarrysearch/quarry/pipeline/discovery/github"
	"github.com/quarrysearch/quarry/pipeline/discovery/gitlab"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/code"
)

// body is a JSON object.
type body = map[string]any

// openKind sets up the API and the targets of a kind of host.
func (r *Registrar) openKind(c discovery.Connection, client *http.Client) (err error) {
	t := &c.Targets
	switch c.Kind {
	case code.GitHub:
		host, err := discovery.ParseHost(c, github.DefaultURL)
		if err != nil {
			return err
		}
		if client, err = github.AuthorizeClient(c, host, client); err != nil {
			return err
		}
		r.api = hostapi.JSON{Base: github.APIURL(host), Client: client}
		r.kind = dialect{list: listConfigured, body: func(t target, _ string) any {
			return body{"name": "web", "active": true, "events": githubEvents(&c, t), "config": body{"url": r.address, "content_type": "json", "secret": r.secret}}
		}}
		r.addTargets("orgs/%s/hooks", t.Orgs)
		r.addTargets("repos/%s/hooks", t.Repos)
	case code.GitLab:
		r.api, _, err = gitlab.NewAPI(c, client)
		r.kind = dialect{list: listPlain, body: func(t target, _ string) any {
			out := gitlabBody(r.address, r.secret)
			if c.ReadMembers && strings.HasPrefix(t.path, "groups/") {
				out["member_events"] = true
			}
			return out
		}}
		if err == nil && strings.HasPrefix(r.secret, signingPrefix) {
			r.kind.check, err = checkSigning, checkSigningToken(r.secret)
		}
		r.addEscaped("groups/%s/hooks", t.Groups)
		r.addEscaped("projects/%s/hooks", t.Projects)
	case code.Gitea:
		r.api, _, err = gitea.NewAPI(c, client)
		r.kind = dialect{list: listConfigured, body: func(target, string) any {
			return body{"type": "gitea", "active": true, "events": []string{"push", "create", "delete", "repository"}, "config": body{"url": r.address, "content_type": "json", "secret": r.secret}}
		}}
		r.addTargets("orgs/%s/hooks", t.Orgs)
		r.addTargets("repos/%s/hooks", t.Repos)
	case code.BitbucketServer:
		r.api, _, err = bitbucketserver.NewAPI(c, client)
		r.kind = dialect{list: listValues, body: func(target, string) any {
			return body{"name": "Quarry", "url": r.address, "active": true, "events": []string{"repo:refs_changed", "repo:modified"}, "configuration": body{"secret": r.secret}}
		}}
		r.addTargets("projects/%s/webhooks", t.Projects)
		for _, name := range t.Repos {
			key, slug, _ := strings.Cut(name, "/")
			r.targets = append(r.targets, target{name: name, path: "projects/" + url.PathEscape(key) + "/repos/" + url.PathEscape(slug) + "/webhooks"})
		}
	case code.BitbucketCloud:
		r.api, _, err = bitbucketcloud.NewAPI(c, client)
		r.kind = dialect{list: listValues, body: func(target, string) any {
			return body{"description": "Quarry", "url": r.address, "active": true, "secret": r.secret, "events": []string{"repo:push", "repo:updated", "repo:transfer", "repo:deleted"}}
		}}
		r.addTargets("workspaces/%s/hooks", t.Workspaces)
		r.addTargets("repositories/%s/hooks", t.Repos)
	case code.AzureDevOps:
		err = r.openAzureDevOps(c, client)
	default:
		r.addTargets("", slices.Concat(t.Orgs, t.Projects, t.Repos))
	}
	if t.All {
		r.targets = append(r.targets, target{name: "all"})
	}
	r.addTargets("", t.Users)
	return err
}

// githubEvents returns the events that a webhook of a target sends. For permissions,
// these depend on whether the target is an organization or a repository.
func githubEvents(c *discovery.Connection, t target) []string {
	events := []string{"push", "repository"}
	if !c.ReadMembers {
		return events
	}
	events = append(events, "member", "team_add")
	if strings.HasPrefix(t.path, "orgs/") {
		events = append(events, "membership", "organization", "team")
	}
	return events
}

// addTargets adds targets whose names are parts of a path; if the format is empty, they
// can have no webhook.
func (r *Registrar) addTargets(format string, names []string) {
	for _, name := range names {
		path := ""
		if format != "" {
			parts := strings.Split(name, "/")
			for i := range parts {
				parts[i] = url.PathEscape(parts[i])
			}
			path = fmt.Sprintf(format, strings.Join(parts, "/"))
		}
		r.targets = append(r.targets, target{name: name, path: path})
	}
}

// addEscaped adds targets whose slashes must be escaped.
func (r *Registrar) addEscaped(format string, names []string) {
	for _, name := range names {
		r.targets = append(r.targets, target{name: name, path: fmt.Sprintf(format, url.PathEscape(name))})
	}
}

// signingPrefix is the prefix of a GitLab signing token, which encodes signingBytes
// bytes.
const (
	signingPrefix = "whsec_"
	signingBytes  = 32
)

func gitlabBody(address, secret string) body {
	key := "token"
	if strings.HasPrefix(secret, signingPrefix) {
		key = "signing_token"
	}
	return body{"url": address, "push_events": true, "tag_push_events": true, "enable_ssl_verification": strings.HasPrefix(address, "https://"), key: secret}
}

// checkSigningToken rejects secrets that GitLab would reject, with an error that does not
// contain them.
func checkSigningToken(secret string) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, signingPrefix))
	if err != nil || len(key) != signingBytes {
		return fmt.Errorf("GitLab takes signing tokens of %d bytes: make one with: echo \"whsec_$(openssl rand -base64 %d)\"", signingBytes, signingBytes)
	}
	return nil
}

// checkSigning checks that GitLab accepted the signing token: a version that does not
// support or enable them ignores it and sends unsigned deliveries.
func checkSigning(made *created) error {
	if made.SigningTokenPresent {
		return nil
	}
	return hostapi.NewError(hostapi.Rejected, "this GitLab does not sign its webhooks: put a secret token, which does not begin with whsec_, first in secrets")
}

// maxHooks is the number of webhooks of a target that are read: hosts allow fewer.
const maxHooks = 100

// listConfigured reads a list in which the URLs are in the config field.
func listConfigured(ctx context.Context, api *hostapi.JSON, path string) ([]hook, error) {
	var all []struct {
		ID     int64 `json:"id"`
		Active bool  `json:"active"`
		Config struct {
			URL string `json:"url"`
		} `json:"config"`
	}
	err := api.Get(ctx, path, url.Values{"per_page": {fmt.Sprint(maxHooks)}, "limit": {fmt.Sprint(maxHooks)}}, &all)
	out := make([]hook, len(all))
	for i, h := range all {
		out[i] = hook{id: fmt.Sprint(h.ID), url: h.Config.URL, active: h.Active}
	}
	return out, err
}

// listPlain reads the list of GitLab, which disables failing webhooks.
func listPlain(ctx context.Context, api *hostapi.JSON, path string) ([]hook, error) {
	var all []struct {
		ID    int64  `json:"id"`
		URL   string `json:"url"`
		Alert string `json:"alert_status"`
		Push  bool   `json:"push_events"`
	}
	err := api.Get(ctx, path, url.Values{"per_page": {fmt.Sprint(maxHooks)}}, &all)
	out := make([]hook, len(all))
	for i, h := range all {
		out[i] = hook{id: fmt.Sprint(h.ID), url: h.URL, active: h.Push && (h.Alert == "" || h.Alert == "executable")}
	}
	return out, err
}

// listValues reads the lists of both Bitbuckets.
func listValues(ctx context.Context, api *hostapi.JSON, path string) ([]hook, error) {
	var all struct {
		Values []struct {
			ID     int64  `json:"id"`
			UUID   string `json:"uuid"`
			URL    string `json:"url"`
			Active bool   `json:"active"`
		} `json:"values"`
	}
	err := api.Get(ctx, path, url.Values{"limit": {fmt.Sprint(maxHooks)}, "pagelen": {fmt.Sprint(maxHooks)}}, &all)
	out := make([]hook, len(all.Values))
	for i, h := range all.Values {
		id := h.UUID
		if id == "" {
			id = fmt.Sprint(h.ID)
		}
		out[i] = hook{id: id, url: h.URL, active: h.Active}
	}
	return out, err
}
