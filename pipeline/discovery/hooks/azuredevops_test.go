package hooks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// GUIDs of the contract server, in Azure DevOps' usual format and in an allowed variant.
const (
	projectGUID    = "6ce954b1-ce1f-45d1-b94d-e6bf2464ba2c"
	repositoryGUID = "5febef5a-833d-4e14-b9c0-14cb638f91e6"
)

// subscription is a subscription of Azure DevOps.
type subscription struct {
	ID             string            `json:"id"`
	Status         string            `json:"status"`
	PublisherID    string            `json:"publisherId"`
	EventType      string            `json:"eventType"`
	Version        string            `json:"resourceVersion"`
	ConsumerID     string            `json:"consumerId"`
	ActionID       string            `json:"consumerActionId"`
	PublisherInput map[string]string `json:"publisherInputs"`
	ConsumerInput  map[string]string `json:"consumerInputs"`
}

// azure serves the subscriptions of the organization acme according to the documentation
// of Azure DevOps: credentials are masked, and requests without a version are refused.
type azure struct {
	t     *testing.T
	there []subscription
	next  int
	// failsAt is an event that this version does not support.
	failsAt string
}

func (a *azure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("api-version") != "7.0" {
		hosttest.WriteJSON(w, http.StatusBadRequest, map[string]string{"message": "The requested version is not given."})
		return
	}
	switch path := r.Method + " " + r.URL.Path; {
	case path == "GET /acme/_apis/projects/Team One":
		hosttest.WriteJSON(w, http.StatusOK, map[string]string{"id": strings.ToUpper(projectGUID), "name": "Team One", "state": "wellFormed"})
	case path == "GET /acme/Team One/_apis/git/repositories/kettle":
		hosttest.WriteJSON(w, http.StatusOK, map[string]any{"id": repositoryGUID, "name": "kettle", "project": map[string]string{"id": projectGUID}})
	case path == "GET /acme/_apis/projects/Odd":
		hosttest.WriteJSON(w, http.StatusOK, map[string]string{"name": "Odd"})
	case path == "GET /acme/_apis/hooks/subscriptions":
		a.list(w)
	case path == "POST /acme/_apis/hooks/subscriptions":
		a.create(w, r)
	case strings.HasPrefix(path, "DELETE /acme/_apis/hooks/subscriptions/"):
		id := path[strings.LastIndex(path, "/")+1:]
		a.there = slices.DeleteFunc(a.there, func(s subscription) bool { return s.ID == id })
		w.WriteHeader(http.StatusNoContent)
	default:
		hosttest.WriteJSON(w, http.StatusNotFound, map[string]string{"$id": "1", "message": "TF200016: The following project does not exist."})
	}
}

func (a *azure) list(w http.ResponseWriter) {
	value := make([]subscription, 0, len(a.there))
	for _, s := range a.there {
		masked := map[string]string{}
		for name, v := range s.ConsumerInput {
			if name == "basicAuthPassword" || name == "httpHeaders" {
				v = "********"
			}
			masked[name] = v
		}
		s.ConsumerInput = masked
		value = append(value, s)
	}
	hosttest.WriteJSON(w, http.StatusOK, map[string]any{"count": len(value), "value": value})
}

func (a *azure) create(w http.ResponseWriter, r *http.Request) {
	var s subscription
	if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
		a.t.Error(err)
	}
	in := s.ConsumerInput
	switch {
	case s.PublisherID != "tfs" || s.ConsumerID != "webHooks" || s.ActionID != "httpRequest" || s.Version == "" || in["resourceDetailsToSend"] != "all":
		a.t.Errorf("a subscription that sends no pushes: %+v", s)
	case in["basicAuthPassword"] == "" && in["httpHeaders"] == "":
		a.t.Errorf("a subscription without a credential: %+v", s)
	case s.EventType == a.failsAt:
		hosttest.WriteJSON(w, http.StatusBadRequest, map[string]string{"message": "There is no registered handler for the service hooks event type " + s.EventType})
		return
	}
	a.next++
	s.ID, s.Status = fmt.Sprintf("fd672255-8b6b-4769-9260-%012d", a.next), "enabled"
	a.there = append(a.there, s)
	hosttest.WriteJSON(w, http.StatusOK, s)
}

// openAzure returns a Registrar for targets of a contract server.
func openAzure(t *testing.T, targets discovery.Targets, address, secret string) (*azure, *Registrar, error) {
	t.Helper()
	a := &azure{t: t}
	server := hosttest.NewServer(t, false, func(string) http.Handler { return a })
	c := discovery.Connection{Name: "hub", Kind: code.AzureDevOps, URL: server.URL, Token: "t", Targets: targets}
	r, err := Open(c, hostapi.NewTransport(hostapi.Options{Attempts: 1}).Client(), address, secret)
	return a, r, err
}

// TestAzureDevOpsHooks checks that each target has a subscription for each event, with
// the credential that ingest/azuredevops requires, and that other subscriptions stay.
func TestAzureDevOpsHooks(t *testing.T) {
	for _, c := range []struct {
		targets discovery.Targets
		scope   map[string]string
		secret  string
		sent    map[string]string
	}{
		{discovery.Targets{Orgs: []string{"acme"}}, map[string]string{}, "quarry:" + secret, map[string]string{"basicAuthUsername": "quarry", "basicAuthPassword": secret}},
		{discovery.Targets{Projects: []string{"acme/Team One"}}, map[string]string{"projectId": projectGUID}, "quarry:a:" + secret, map[string]string{"basicAuthUsername": "quarry", "basicAuthPassword": "a:" + secret}},
		{discovery.Targets{Repos: []string{"acme/Team One/kettle"}}, map[string]string{"projectId": projectGUID, "repository": repositoryGUID}, secret, map[string]string{"httpHeaders": "Authorization: Bearer " + secret}},
	} {
		a, r, err := openAzure(t, c.targets, address, c.secret)
		if err != nil {
			t.Fatal(err)
		}
		others := []subscription{
			{ID: "a", Status: "enabled", EventType: "git.push", PublisherInput: c.scope, ConsumerInput: map[string]string{"url": "https://ci.example.org/hook"}},
			{ID: "b", Status: "enabled", EventType: "git.push", PublisherInput: map[string]string{"projectId": "another"}, ConsumerInput: map[string]string{"url": address}},
		}
		a.there = slices.Clone(others)
		checkLife(t, r, 1, func() {
			var events []string
			for _, s := range a.there[2:] {
				events = append(events, s.EventType)
				if s.ConsumerInput["url"] != address || fmt.Sprint(s.PublisherInput) != fmt.Sprint(c.scope) {
					t.Errorf("%+v: want the scope %v", s, c.scope)
				}
				for name, want := range c.sent {
					if s.ConsumerInput[name] != want {
						t.Errorf("%s is %q, want %q", name, s.ConsumerInput[name], want)
					}
				}
			}
			if !slices.Equal(events, azureEvents) {
				t.Errorf("subscriptions for %v, want %v", events, azureEvents)
			}
		})
		if len(a.there) != 2 || a.there[0].ID != "a" || a.there[1].ID != "b" {
			t.Errorf("subscriptions of others: %+v", a.there)
		}
	}
}

// TestAzureDevOpsHooksInPart checks that an event without a subscription, or with one
// that the host disabled, is detected and subscribed again. An event that the host does
// not support is an error that shows no secret.
func TestAzureDevOpsHooksInPart(t *testing.T) {
	a, r, err := openAzure(t, discovery.Targets{Projects: []string{"acme/Team One", "acme/Nobody", "acme/Odd"}}, address, secret)
	if err != nil {
		t.Fatal(err)
	}
	check := func(step string, got []Result, want State, code hostapi.Code) {
		t.Helper()
		if got[0].State != want || (got[0].Err == nil) != (code == "") || got[0].Err != nil && hostapi.CodeOf(got[0].Err) != code {
			t.Errorf("%s: %+v, want %s", step, got[0], want)
		}
		if hostapi.CodeOf(got[1].Err) != hostapi.NotFound || hostapi.CodeOf(got[2].Err) != hostapi.HostFailed {
			t.Errorf("%s: unknown projects: %+v", step, got[1:])
		}
		for _, result := range got {
			if result.Err != nil && strings.Contains(result.Err.Error(), secret) {
				t.Errorf("the secret is shown: %v", result.Err)
			}
		}
	}
	a.failsAt = "git.repo.statuschanged"
	check("an event that the host does not have", r.Install(t.Context()), Absent, hostapi.Rejected)
	check("in part", r.ShowStatus(t.Context()), Incomplete, "")
	a.failsAt = ""
	check("the rest", r.Install(t.Context()), Installed, "")
	check("whole", r.ShowStatus(t.Context()), Active, "")
	if len(a.there) != len(azureEvents) {
		t.Errorf("%d subscriptions, want %d", len(a.there), len(azureEvents))
	}
	a.there[0].Status = "onProbation"
	check("turned off", r.ShowStatus(t.Context()), Inactive, "")
}

// TestAzureDevOpsHooksRefused checks that secrets that cannot be sent, and targets that
// would become others, are rejected before a request.
func TestAzureDevOpsHooksRefused(t *testing.T) {
	for _, c := range []struct {
		targets         discovery.Targets
		address, secret string
		want            string
	}{
		{discovery.Targets{Orgs: []string{"acme"}}, "http://quarry.example.org/webhooks/x/hub", "quarry:" + secret, "HTTPS"},
		{discovery.Targets{Orgs: []string{"acme"}}, address, ":" + secret, "no user"},
		{discovery.Targets{Orgs: []string{"acme"}}, address, secret + "\r\nX-Other: 1", "control characters"},
		{discovery.Targets{Projects: []string{"acme"}}, address, secret, "want organization/project"},
		{discovery.Targets{Projects: []string{"acme/"}}, address, secret, "want organization/project"},
		{discovery.Targets{Repos: []string{"acme/Team One"}}, address, secret, "want organization/project/name"},
	} {
		_, _, err := openAzure(t, c.targets, c.address, c.secret)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%+v, %s: %v", c.targets, c.address, err)
		}
	}
}
