package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/ingest/ingesttest"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

const genericModelSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"

// pushOf returns the delivery of a push of a repository.
func (m *hintModel) pushOf(r hosttest.Repo) modelDelivery {
	const commit = "1111111111111111111111111111111111111111"
	zeros := strings.Repeat("0", 40)
	described := hosttest.Describe(m.kind, m.base, r)
	d := modelDelivery{name: "push of " + r.Name, event: "push"}
	switch m.kind {
	case code.GitLab:
		d.event = "Push Hook"
		d.payload = map[string]any{"event_name": "push", "ref": "refs/heads/main", "before": zeros, "after": commit, "project_id": r.ID, "project": described}
	case code.BitbucketServer:
		d.event = "repo:refs_changed"
		d.payload = map[string]any{"repository": described, "changes": []any{map[string]any{"ref": map[string]any{"id": "refs/heads/main"}, "fromHash": zeros, "toHash": commit}}}
	case code.BitbucketCloud:
		d.event = "repo:push"
		d.payload = map[string]any{"repository": described, "push": map[string]any{"changes": []any{map[string]any{
			"old": nil, "new": map[string]any{"type": "branch", "name": "main", "target": map[string]any{"hash": commit}},
		}}}}
	case code.AzureDevOps:
		d.payload = map[string]any{"eventType": "git.push", "resource": map[string]any{
			"repository": described, "refUpdates": []any{map[string]any{"name": "refs/heads/main", "oldObjectId": zeros, "newObjectId": commit}},
		}}
	case code.Gerrit:
		d.payload = map[string]any{"type": "ref-updated", "refUpdate": map[string]any{"oldRev": zeros, "newRev": commit, "refName": "refs/heads/main", "project": r.Owner + "/" + r.Name}}
	case code.GenericGitHost:
		d.payload = map[string]any{"repository": m.base + "/" + r.Owner + "/" + r.Name + ".git", "ref": "refs/heads/main"}
	default:
		d.payload = map[string]any{"ref": "refs/heads/main", "before": zeros, "after": commit, "repository": described}
	}
	return d
}

// eventsOf returns the deliveries that the host sends for a change: deleted, renamed or
// visibility. It is empty if the host sends none.
func (m *hintModel) eventsOf(change string, r hosttest.Repo) []modelDelivery {
	described := hosttest.Describe(m.kind, m.base, r)
	d := modelDelivery{name: change + " of " + r.Name}
	switch m.kind {
	case code.GitHub:
		action := map[string]string{"deleted": "deleted", "renamed": "renamed", "visibility": "publicized"}[change]
		if change == "visibility" && r.Private {
			action = "privatized"
		}
		d.event, d.payload = "repository", map[string]any{"action": action, "repository": described}
	case code.GitLab:
		name := map[string]string{"deleted": "project_destroy", "renamed": "project_rename", "visibility": "project_update"}[change]
		d.event = "System Hook"
		d.payload = map[string]any{"event_name": name, "project_id": r.ID, "path_with_namespace": r.Owner + "/" + r.Name, "project_visibility": described["visibility"]}
	case code.Gitea:
		if change != "deleted" {
			return nil
		}
		d.event, d.payload = "repository", map[string]any{"action": "deleted", "repository": described}
	case code.BitbucketServer:
		d.event, d.payload = "repo:modified", map[string]any{"old": described, "new": described}
		if change == "deleted" {
			d.event, d.payload = "repo:deleted", map[string]any{"repository": described}
		}
	case code.BitbucketCloud:
		d.event, d.payload = "repo:updated", map[string]any{"repository": described}
		if change == "deleted" {
			d.event = "repo:deleted"
		}
	case code.AzureDevOps:
		name := map[string]string{"deleted": "git.repo.deleted", "renamed": "git.repo.renamed"}[change]
		if name == "" {
			return nil
		}
		d.payload = map[string]any{"eventType": name, "resource": map[string]any{"repository": described}}
	case code.Gerrit:
		if change == "deleted" {
			return nil
		}
		d.payload = map[string]any{"type": "project-head-updated", "projectName": r.Owner + "/" + r.Name, "oldHead": "refs/heads/x", "newHead": "refs/heads/" + r.Branch}
	default:
		return nil
	}
	return []modelDelivery{d}
}

// signModelDelivery returns the request of a delivery, signed as the kind of host does.
func signModelDelivery(kind code.HostKind, connection, id string, d modelDelivery, at time.Time) (*http.Request, error) {
	body, err := json.Marshal(d.payload)
	if err != nil {
		return nil, err
	}
	r := httptest.NewRequest(http.MethodPost, "/webhooks/"+string(kind)+"/"+connection, strings.NewReader(string(body)))
	h := r.Header
	h.Set("Content-Type", "application/json")
	switch kind {
	case code.GitHub:
		h.Set("X-GitHub-Event", d.event)
		h.Set("X-GitHub-Delivery", id)
		h.Set("X-Hub-Signature-256", ingesttest.SignHMAC("sha256=", body, []byte("s3cret")))
	case code.GitLab:
		h.Set("X-Gitlab-Event", d.event)
		h.Set("X-Gitlab-Event-UUID", id)
		h.Set("X-Gitlab-Token", "s3cret")
	case code.Gitea:
		h.Set("X-Gitea-Event", d.event)
		h.Set("X-Gitea-Delivery", id)
		h.Set("X-Gitea-Signature", ingesttest.SignHMAC("", body, []byte("s3cret")))
	case code.BitbucketServer, code.BitbucketCloud:
		h.Set("X-Event-Key", d.event)
		h.Set("X-Request-Id", id)
		h.Set("X-Request-UUID", id)
		h.Set("X-Hub-Signature", ingesttest.SignHMAC("sha256=", body, []byte("s3cret")))
	case code.AzureDevOps:
		r.SetBasicAuth("ann", "s3cret")
	case code.Gerrit:
		r.URL.RawQuery = "token=s3cret"
	case code.GenericGitHost:
		key, err := signature.ParseSecret(genericModelSecret)
		if err != nil {
			return nil, err
		}
		signature.SetStandard(h, id, at, body, key)
	}
	return r, nil
}
