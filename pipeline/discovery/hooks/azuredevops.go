package hooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/azuredevops"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
)

// azureEvents are the events that ingest/azuredevops reads.
var azureEvents = []string{"git.push", "git.repo.renamed", "git.repo.statuschanged", "git.repo.deleted"}

// Parts of a subscription of Azure DevOps, which delivers an event with a POST.
const (
	azurePublisher = "tfs"
	azureConsumer  = "webHooks"
	azureAction    = "httpRequest"
	azureList      = "_apis/hooks/subscriptions"
)

// scope is the scope of a subscription, by GUIDs in lower case: one repository, all
// repositories of a project, or, with neither, all of an organization.
type scope struct{ project, repository string }

// openAzureDevOps finds the API and the targets of Azure DevOps.
func (r *Registrar) openAzureDevOps(c discovery.Connection, client *http.Client) error {
	credential, err := azureCredential(r.address, r.secret)
	if err != nil {
		return fmt.Errorf("connection %s: %w", c.Name, err)
	}
	api, host, err := azuredevops.NewAPI(c, client)
	r.api = api
	version := url.Values{"api-version": {azuredevops.APIVersion}}
	r.kind = dialect{
		query: version, events: azureEvents, list: listSubscriptions,
		resolve: func(ctx context.Context, api *hostapi.JSON, t *target) error {
			return resolveAzureScope(ctx, api, t, host, version)
		},
		body: func(t target, event string) any {
			// The texts of an event quote commit messages and are not needed.
			consumer := body{"url": r.address, "resourceDetailsToSend": "all", "messagesToSend": "none", "detailedMessagesToSend": "none"}
			for name, value := range credential {
				consumer[name] = value
			}
			publisher := body{}
			if t.scope.project != "" {
				publisher["projectId"] = t.scope.project
			}
			if t.scope.repository != "" {
				publisher["repository"] = t.scope.repository
			}
			return body{
				"publisherId": azurePublisher, "eventType": event, "resourceVersion": "1.0",
				"consumerId": azureConsumer, "consumerActionId": azureAction, "publisherInputs": publisher, "consumerInputs": consumer,
			}
		},
	}
	if err != nil {
		return err
	}
	for i, form := range []string{"organization", "organization/project", "organization/project/name"} {
		for _, name := range [][]string{c.Targets.Orgs, c.Targets.Projects, c.Targets.Repos}[i] {
			// A project without its organization must not be mistaken for an
			// organization.
			parts := strings.Split(name, "/")
			if len(parts) != i+1 || slices.Contains(parts, "") {
				return fmt.Errorf("connection %s: discover has %.80q, want %s", c.Name, name, form)
			}
			r.targets = append(r.targets, target{name: name, path: azuredevops.OrganizationPath(host, parts[0]) + azureList})
		}
	}
	return nil
}

// azureCredential returns the subscription inputs that send a secret in the form that
// ingest/azuredevops requires: user:password, or a token.
func azureCredential(address, secret string) (body, error) {
	if strings.ContainsFunc(secret, unicode.IsControl) {
		return nil, errors.New("the first of secrets has control characters: Azure DevOps sends it in a header")
	}
	user, password, ok := strings.Cut(secret, ":")
	switch {
	case !ok:
		return body{"httpHeaders": "Authorization: Bearer " + secret}, nil
	case user == "" || password == "":
		return nil, errors.New("the first of secrets has no user or no password: write user:password")
	case !strings.HasPrefix(address, "https://"):
		return nil, errors.New("a user and a password are sent by HTTPS alone: set publicUrl to an address with https, or put a secret without a colon first in secrets")
	}
	return body{"basicAuthUsername": user, "basicAuthPassword": password}, nil
}

// resolveAzureScope finds the GUIDs of a target, because subscriptions contain no names.
func resolveAzureScope(ctx context.Context, api *hostapi.JSON, t *target, host discovery.Host, version url.Values) error {
	parts := strings.Split(t.name, "/")
	path := azuredevops.OrganizationPath(host, parts[0])
	var found struct {
		ID      string `json:"id"`
		Project struct {
			ID string `json:"id"`
		} `json:"project"`
	}
	switch len(parts) {
	case 1:
		return nil
	case 2:
		if err := api.Get(ctx, path+"_apis/projects/"+url.PathEscape(parts[1]), version, &found); err != nil {
			return err
		}
		t.scope = scope{project: strings.ToLower(found.ID)}
	case 3:
		if err := api.Get(ctx, path+url.PathEscape(parts[1])+"/_apis/git/repositories/"+url.PathEscape(parts[2]), version, &found); err != nil {
			return err
		}
		if found.ID == "" {
			return hostapi.NewError(hostapi.HostFailed, "the repository has no ID")
		}
		t.scope = scope{project: strings.ToLower(found.Project.ID), repository: strings.ToLower(found.ID)}
	}
	if t.scope.project == "" {
		// Without the ID, the subscription would cover the whole organization.
		return hostapi.NewError(hostapi.HostFailed, "the project has no ID")
	}
	return nil
}

// listSubscriptions reads the subscriptions of an organization, which are all in one
// response.
func listSubscriptions(ctx context.Context, api *hostapi.JSON, path string) ([]hook, error) {
	var all struct {
		Value []struct {
			ID        string `json:"id"`
			Status    string `json:"status"`
			Event     string `json:"eventType"`
			Publisher struct {
				Project    string `json:"projectId"`
				Repository string `json:"repository"`
			} `json:"publisherInputs"`
			Consumer struct {
				URL string `json:"url"`
			} `json:"consumerInputs"`
		} `json:"value"`
	}
	query := url.Values{"api-version": {azuredevops.APIVersion}, "publisherId": {azurePublisher}, "consumerId": {azureConsumer}, "consumerActionId": {azureAction}}
	if err := api.Get(ctx, path, query, &all); err != nil {
		return nil, err
	}
	out := make([]hook, 0, len(all.Value))
	for _, s := range all.Value {
		of := scope{project: strings.ToLower(s.Publisher.Project), repository: strings.ToLower(s.Publisher.Repository)}
		out = append(out, hook{id: s.ID, url: s.Consumer.URL, active: s.Status == "enabled", scope: of, event: s.Event})
	}
	return out, nil
}
