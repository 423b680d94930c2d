package hooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/code"
)

// ErrByHand means that the host has no API for the webhook of a target.
var ErrByHand = errors.New("the webhook is to be registered by hand, see docs/webhooks.md")

// State is the state of the webhook of a target.
type State string

// States of a webhook.
const (
	Absent     State = "absent"
	Active     State = "active"
	Inactive   State = "inactive"   // disabled, by a person or after failed deliveries
	Incomplete State = "incomplete" // some kinds of events have no webhook
	Installed  State = "installed"
	Removed    State = "removed"
)

// Result is the state of a target, or the result of a change to it.
type Result struct {
	Target string
	State  State
	Err    error
}

// Registrar registers the webhooks of one connection.
type Registrar struct {
	api     hostapi.JSON
	host    code.HostKind
	kind    dialect
	targets []target
	// address is the URL of the webhooks, and secret signs deliveries.
	address, secret string
}

// target is an object that can have webhooks. Its path is that of the list of its
// webhooks, or empty if it can have none.
type target struct {
	name, path string
	// scope selects the webhooks of the target in the list; zero if the host's list
	// contains no others.
	scope scope
}

// hook is a webhook on a host.
type hook struct {
	id     string
	url    string
	active bool
	scope  scope
	// event is the event that it announces; empty if one webhook announces all events.
	event string
}

// dialect describes the webhook API of a kind of host.
type dialect struct {
	// query is added to requests that create and delete webhooks.
	query url.Values
	// events need one webhook each; nil means that one webhook announces all.
	events []string
	// resolve determines the scope of a target; nil means that there are no scopes.
	resolve func(ctx context.Context, api *hostapi.JSON, t *target) error
	// list reads a list of webhooks.
	list func(ctx context.Context, api *hostapi.JSON, path string) ([]hook, error)
	// body returns the request body that creates a webhook.
	body func(t target, event string) any
	// check verifies the created webhook, which is removed if check returns an error; nil
	// means no check.
	check func(*created) error
}

// created holds the fields that are read from the response for a new webhook.
type created struct {
	ID                  int64 `json:"id"`
	SigningTokenPresent bool  `json:"signing_token_present"`
}

// Open returns the Registrar of a connection. address is the URL of its webhooks on this
// server.
func Open(c discovery.Connection, client *http.Client, address, secret string) (*Registrar, error) {
	if u, err := url.Parse(address); err != nil || u.Host == "" {
		return nil, fmt.Errorf("connection %s: set publicUrl: hosts send webhooks there", c.Name)
	}
	if secret == "" {
		return nil, fmt.Errorf("connection %s: set secrets: unsigned deliveries are refused", c.Name)
	}
	r := &Registrar{host: c.Kind, address: address, secret: secret}
	return r, r.openKind(c, client)
}

// ShowStatus returns the state of the webhook of each target.
func (r *Registrar) ShowStatus(ctx context.Context) []Result {
	return r.eachTarget(ctx, func(_ target, ours []hook) (State, error) { return r.kind.stateOf(ours), nil })
}

// Install creates missing webhooks.
func (r *Registrar) Install(ctx context.Context) []Result {
	return r.eachTarget(ctx, func(t target, ours []hook) (State, error) {
		missing := r.kind.missingEvents(ours)
		if len(missing) == 0 {
			return r.kind.stateOf(ours), nil
		}
		for _, event := range missing {
			if state, err := r.installHook(ctx, t, event); err != nil {
				return state, err
			}
		}
		return Installed, nil
	})
}

func (r *Registrar) installHook(ctx context.Context, t target, event string) (State, error) {
	if r.kind.check == nil {
		return Absent, r.api.Do(ctx, http.MethodPost, t.path, r.kind.query, r.kind.body(t, event), nil)
	}
	var made created
	if err := r.api.Do(ctx, http.MethodPost, t.path, r.kind.query, r.kind.body(t, event), &made); err != nil {
		return Absent, err
	}
	if err := r.kind.check(&made); err != nil {
		return Absent, errors.Join(err, r.api.Do(ctx, http.MethodDelete, fmt.Sprintf("%s/%d", t.path, made.ID), r.kind.query, nil, nil))
	}
	return Installed, nil
}

// Remove removes our webhooks.
func (r *Registrar) Remove(ctx context.Context) []Result {
	return r.eachTarget(ctx, func(t target, ours []hook) (State, error) {
		for _, h := range ours {
			if err := r.api.Do(ctx, http.MethodDelete, t.path+"/"+url.PathEscape(h.id), r.kind.query, nil, nil); err != nil {
				return r.kind.stateOf(ours), err
			}
		}
		if len(ours) == 0 {
			return Absent, nil
		}
		return Removed, nil
	})
}

// eachTarget calls do for each target with our webhooks of it.
func (r *Registrar) eachTarget(ctx context.Context, do func(t target, ours []hook) (State, error)) []Result {
	out := make([]Result, len(r.targets))
	for i, t := range r.targets {
		out[i].Target = t.name
		if t.path == "" {
			out[i].Err = ErrByHand
			continue
		}
		ours, err := r.listOurs(ctx, &t)
		if err == nil {
			out[i].State, err = do(t, ours)
		}
		out[i].Err = r.nameScope(err)
	}
	return out
}

// scopes are what the token needs to register webhooks, as in docs/connections.md.
var scopes = map[code.HostKind]string{
	code.GitHub:          "the permission Webhooks: write, or, for a classic token, the scope admin:repo_hook, and admin:org_hook for an organization",
	code.GitLab:          "the scope api, and its user the role Maintainer of the project or Owner of the group",
	code.Gitea:           "the scope write:repository, and write:organization for an organization",
	code.BitbucketServer: "the permission Project admin",
	code.BitbucketCloud:  "the scopes read:webhook:bitbucket and write:webhook:bitbucket, and delete:webhook:bitbucket to remove webhooks",
	code.AzureDevOps:     "the permissions View subscriptions and Edit subscriptions, and Code (read)",
}

// nameScope adds what the token needs to the error of a host that does not let it read or
// change webhooks. Some hosts answer 404 then.
func (r *Registrar) nameScope(err error) error {
	switch needs := scopes[r.host]; hostapi.CodeOf(err) {
	case hostapi.Forbidden:
		return fmt.Errorf("%w; the token needs %s", err, needs)
	case hostapi.NotFound:
		return fmt.Errorf("%w; if the target exists, the token needs %s", err, needs)
	}
	return err
}

// listOurs returns our webhooks of a target.
func (r *Registrar) listOurs(ctx context.Context, t *target) ([]hook, error) {
	if r.kind.resolve != nil {
		if err := r.kind.resolve(ctx, &r.api, t); err != nil {
			return nil, err
		}
	}
	all, err := r.kind.list(ctx, &r.api, t.path)
	return slices.DeleteFunc(all, func(h hook) bool { return h.url != r.address || h.scope != t.scope }), err
}

// missingEvents returns the events that none of our webhooks announces.
func (d *dialect) missingEvents(ours []hook) []string {
	events := d.events
	if events == nil {
		events = []string{""}
	}
	return slices.DeleteFunc(slices.Clone(events), func(event string) bool {
		return slices.ContainsFunc(ours, func(h hook) bool { return h.event == event })
	})
}

// stateOf returns the state of a target with the given webhooks of ours.
func (d *dialect) stateOf(ours []hook) State {
	switch active := slices.DeleteFunc(slices.Clone(ours), func(h hook) bool { return !h.active }); {
	case len(ours) == 0:
		return Absent
	case len(d.missingEvents(ours)) > 0:
		return Incomplete
	case len(d.missingEvents(active)) > 0:
		return Inactive
	}
	return Active
}
