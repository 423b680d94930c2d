package shards

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

// TestCallerSurvives checks that a shard sees the principal of the front, above all whether
// its credential is restricted: to nothing, to some repositories, or not at all.
func TestCallerSurvives(t *testing.T) {
	at := []event.Position{{Topic: event.TopicAccounts, Offset: 7}}
	for name, only := range map[string]map[code.RepositoryID]struct{}{"all": nil, "nothing": {}, "some": {3: {}, 1 << 60: {}}} {
		p := &auth.Principal{
			Actor: account.Actor{Kind: account.ActorKind("key"), User: "u1", Credential: "k1"}, Role: account.RoleOwner,
			Scopes: []account.Scope{account.ScopeAdmin}, Repositories: only,
		}
		b, err := encodeCaller(p, at, 5, "")
		if err != nil {
			t.Fatal(err)
		}
		c, got, err := decodeCaller(b)
		if err != nil || !reflect.DeepEqual(got, p) || !reflect.DeepEqual(c.Accounts, at) || c.Repository != 5 {
			t.Errorf("%s: %+v, caller %+v, %v", name, got, c, err)
		}
	}
	b, err := encodeCaller(auth.From(context.Background()), nil, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, got, err := decodeCaller(b); err != nil || got.Repositories == nil || len(got.Repositories) > 0 || got.Owner() {
		t.Errorf("without a principal: %+v, %v, want one that sees nothing", got, err)
	}
}

func TestParsePeers(t *testing.T) {
	peers, err := ParsePeers([]string{"a:1", "b:1"})
	if err != nil || peers[1].Address != "b:1" || peers[1].Share.String() != "1/2" {
		t.Errorf("by order: %+v, %v", peers, err)
	}
	peers, err = ParsePeers([]string{"0,4-5@a:1", "1-3@b:1"})
	if err != nil || peers[0].Address != "a:1" || peers[0].Share.String() != "0,4,5" {
		t.Errorf("by share: %+v, %v", peers, err)
	}
	for _, bad := range [][]string{{"a:1", "1/2@b:1"}, {"0/2@a:1", "b:1"}, {"x@a:1"}} {
		if _, err := ParsePeers(bad); !errors.Is(err, sharding.ErrShare) {
			t.Errorf("%v: %v, want ErrShare", bad, err)
		}
	}
}
