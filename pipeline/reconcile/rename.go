package reconcile

import (
	"context"
	"crypto/rand"
	"fmt"
	"path"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// A host that renames or moves a repository redirects the former clone URL to the new
// one. Only the host can do so, so it is a confirmation, unlike the name in a
// webhook (docs/adr/0035-webhooks-are-hints.md).

// renameRepository appends the new clone URL of a repository, to which its host
// redirects, unless the log has another one meanwhile.
func (r *Reconciler) renameRepository(ctx context.Context, k *repository, from, to string) error {
	r.mu.Lock()
	known, gone := k.Repository, k.gone
	r.mu.Unlock()
	if gone {
		return errLost
	}
	if known.CloneURL != from {
		return nil
	}
	now := r.o.Now().UTC()
	// The mark leaves a repository private that became private at any time: this process
	// does not know whether it is.
	ev := &event.RepositoryChanged{Repository: describeMoved(known, to), PrivateMark: new(event.Offset), At: now}
	rec, err := event.Encode(event.Envelope{ID: rand.Text(), Source: source, Time: now}, ev)
	if err != nil {
		return fmt.Errorf("new clone URL of repository %s: %w", known.Name, err)
	}
	if _, err := r.o.Log.Append(ctx, r.o.Topic, eventlog.AnyPartition, rec); err != nil {
		return fmt.Errorf("append the new clone URL of repository %s: %w", known.Name, err)
	}
	r.o.Logger.Info("repository moved at its host", "repository", known.Name, "repository_id", known.ID, "name", ev.Repository.Name, "clone_url", to)
	r.o.Audit(ctx, audit.Record{
		Action: audit.ChangedRepository, Actor: account.Actor{Kind: account.ActorSystem}, TargetType: audit.TargetRepository, Target: ev.Repository.Name,
		Metadata: map[string]string{"cause": "redirect", "connection": known.Connection, "cloneUrl": to, "formerCloneUrl": from},
	})
	return nil
}

// describeMoved returns the description of a repository at a new clone URL. Names and
// addresses that follow from the clone URL change with it; others stay.
func describeMoved(r code.Repository, cloneURL string) code.Repository {
	former, err1 := code.ParseCloneURL(r.CloneURL)
	current, err2 := code.ParseCloneURL(cloneURL)
	r.CloneURL = cloneURL
	if err1 != nil || err2 != nil {
		return r
	}
	move := func(text string) string { return replacePath(text, former.Path, current.Path) }
	if r.Name == former.Name() || r.Connection != "" { // otherwise a person has chosen it
		r.Name = move(r.Name)
	}
	r.DisplayName, r.WebURL = move(r.DisplayName), move(r.WebURL)
	return r
}

// replacePath replaces the path at the end of a name or URL. Bitbucket Server writes the
// path before the last element differently in names, so if only the last element of the
// path differs, only that is replaced.
func replacePath(text, from, to string) string {
	if path.Dir(from) == path.Dir(to) {
		from, to = path.Base(from), path.Base(to)
	}
	before, ok := strings.CutSuffix(text, from)
	if !ok || before != "" && !strings.HasSuffix(before, "/") {
		return text
	}
	return before + to
}
