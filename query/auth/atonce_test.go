package auth_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestAtOnce runs requests and changes concurrently and checks that no caller sees a
// private repository without permission in any intermediate state. The test is also run
// with the race detector.
func TestAtOnce(t *testing.T) {
	w := newWorld(t, func(o *auth.Options) { o.Anonymous = true })
	owner := w.authenticateAs(w.signInOwner().Value)
	bob, eve := w.signInMember(owner, "bob@example.org"), w.signInMember(owner, "eve@example.org")
	ctx, cancel := context.WithCancel(t.Context())
	var running, group sync.WaitGroup
	running.Go(func() { _ = w.Run(ctx) })
	const rounds = 200
	group.Go(func() {
		for i := range rounds {
			members := []account.UserID{bob.User.ID}
			if _, err := w.SetAccess(ctx, owner, newRepository(2), account.Private, members[:i%2]); err != nil {
				t.Error(err)
			}
		}
	})
	group.Go(func() {
		for i := range rounds {
			name := fmt.Sprint("k", i%10)
			_, value, err := w.CreateKey(ctx, w.authenticateAs(eve.Value), auth.NewKey{Name: name, Repositories: []code.RepositoryID{1}})
			if err != nil {
				t.Error(err)
				return
			}
			w.authenticateAs(value)
			if err := w.DeleteKey(ctx, w.authenticateAs(eve.Value), name); err != nil {
				t.Error(err)
			}
			w.checkRefused("a deleted key", value)
		}
	})
	for n := range 4 {
		group.Go(func() {
			for i := range rounds {
				if w.Visible(w.authenticateAs(eve.Value)).Sees(newRepository(2)) {
					t.Error("a member sees what is not theirs")
				}
				w.Visible(w.authenticateAs(bob.Value)).Sees(newRepository(2))
				_, err := w.SignIn(ctx, actorFrom(fmt.Sprintf("10.0.%d.%d", n, i)), "eve@example.org", "wrong password")
				var throttled *auth.ThrottledError
				if !errors.Is(err, auth.ErrUnauthenticated) && !errors.As(err, &throttled) {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	cancel()
	running.Wait()
}
