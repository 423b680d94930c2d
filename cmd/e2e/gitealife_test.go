package e2e

import (
	"fmt"
	"net/http"
	"strings"
)

// createLater creates a repository while the server runs: a sync finds it, and from then on
// the webhook of its organization announces its pushes.
func (w *giteaWalk) createLater() {
	w.t.Helper()
	tree := w.createRepository(w.root, w.org, "spinet", false)
	tree.server, tree.repository = w.server, strings.TrimSuffix(w.hidden.repository, "hidden")+"spinet"
	tree.commit("virginal")
	tree.push("HEAD:refs/heads/main")
	w.expect(0, "", "connections", "sync", "hub", "--wait")
	tree.await("virginal", 1)
	tree.commit("clavichord")
	tree.push("HEAD:refs/heads/main")
	tree.await("clavichord", 1)
}

// changeVisibility makes the repository private, which its next push says, and public, which
// a sync finds.
func (w *giteaWalk) changeVisibility() {
	w.t.Helper()
	for _, c := range []struct {
		private bool
		word    string
	}{{true, "bombarde"}, {false, "shawm"}} {
		w.call(http.MethodPatch, "repos/"+w.org+"/instrument", object{"private": c.private}, nil)
		w.tool.commit(c.word)
		w.tool.push("HEAD:refs/heads/main")
		w.tool.await(c.word, 1)
		if !c.private {
			w.expect(0, "", "connections", "sync", "hub", "--wait")
		}
		want := map[bool]string{true: "private", false: "public"}[c.private]
		if !pollUntil(func() bool { return w.listed("instrument").Visibility == want }) {
			w.t.Errorf("on the host the repository is %s; here: %+v", want, w.listed("instrument"))
		}
	}
}

// transfer moves the repository to another organization and back. A push there is found
// under the new name, without a sync.
func (w *giteaWalk) transfer() {
	w.t.Helper()
	before := w.repositoryID("instrument")
	for _, c := range []struct{ from, to, word string }{{w.org, w.other, "crwth"}, {w.other, w.org, "lyre"}} {
		w.call(http.MethodPost, "repos/"+c.from+"/instrument/transfer", object{"new_owner": c.to}, nil)
		w.tool.git("remote", "set-url", "origin", w.cloneURL(c.to, "instrument"))
		w.tool.repository = strings.Replace(w.tool.repository, "/"+c.from+"/", "/"+c.to+"/", 1)
		w.tool.commit(c.word)
		w.tool.push("HEAD:refs/heads/main")
		w.tool.await(c.word, 1)
	}
	if after := w.repositoryID("instrument"); after != before {
		w.t.Errorf("the repository %d is %d since it was transferred", before, after)
	}
}

// renameByHand renames a repository that no connection discovers, and that was registered by
// hand. Its next push is found under the new name.
func (w *giteaWalk) renameByHand() {
	w.t.Helper()
	tree := w.createRepository(w.root, w.stray, "lute", false)
	tree.server, tree.repository = w.server, strings.Replace(w.hidden.repository, "/"+w.org+"/hidden", "/"+w.stray+"/lute", 1)
	tree.commit("mandora")
	tree.push("HEAD:refs/heads/main")
	w.expect(0, "", "index", w.base+"/"+w.stray+"/lute.git")
	tree.await("mandora", 1)
	w.call(http.MethodPost, "orgs/"+w.stray+"/hooks", object{
		"type": "gitea", "active": true, "events": []string{"push", "create", "delete", "repository"},
		"config": object{"url": w.server.url + "/webhooks/gitea/hub", "content_type": "json", "secret": "a-secret-of-" + w.org},
	}, nil)
	tree.commit("angelique")
	tree.push("HEAD:refs/heads/main")
	tree.await("angelique", 1)
	w.call(http.MethodPatch, "repos/"+w.stray+"/lute", object{"name": "archlute"}, nil)
	tree.git("remote", "set-url", "origin", w.cloneURL(w.stray, "archlute"))
	tree.commit("chitarrone")
	tree.push("HEAD:refs/heads/main")
	tree.repository = strings.TrimSuffix(tree.repository, "lute") + "archlute"
	tree.await("chitarrone", 1)
	tree.await("mandora", 1)
}

// loseHooks removes the webhook of the organization at the host, which the command reports
// and mends.
func (w *giteaWalk) loseHooks() {
	w.t.Helper()
	var hooks []struct{ ID int64 }
	w.call(http.MethodGet, "orgs/"+w.org+"/hooks", nil, &hooks)
	for _, hook := range hooks {
		w.call(http.MethodDelete, fmt.Sprintf("orgs/%s/hooks/%d", w.org, hook.ID), nil, nil)
	}
	w.expect(0, w.org+": absent", "hooks", "status", "hub", "--config", w.config)
	w.expect(0, w.org+": installed", "hooks", "install", "hub", "--config", w.config)
	w.tool.commit("regal")
	w.tool.push("HEAD:refs/heads/main")
	w.tool.await("regal", 1)
}
