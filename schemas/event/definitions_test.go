package event

import (
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// TestDefinitions checks that each row has the type that its event returns, that an empty
// event breaks a rule, and that the row of one type rejects events of another.
func TestDefinitions(t *testing.T) {
	for name, d := range definitions {
		ev := d.new()
		if ev.EventType() != name {
			t.Errorf("%s: its row makes an event of the type %s", name, ev.EventType())
		}
		if c := new(checker); !d.check(c, ev) || c.err == nil {
			t.Errorf("%s: an empty %T breaks no rule", name, ev)
		}
		if c := new(checker); d.check(c, foreignEvent{name}) {
			t.Errorf("%s: its row checks a %T", name, foreignEvent{})
		}
	}
	for _, name := range workTypes {
		if _, ok := definitions[name]; !ok {
			t.Errorf("%s requests work and has no definition", name)
		}
	}
}

// foreignEvent is an event of another package with a type of this one.
type foreignEvent struct{ name Type }

func (e foreignEvent) EventType() Type { return e.name }

func (e foreignEvent) Key() code.RepositoryID { return 1 }

func TestEventsOfOtherPackages(t *testing.T) {
	for _, name := range []Type{TypePush, TypeAuditSealed, TypeUserCreated, "dev.quarry.unknown.v1"} {
		_, err := Encode(Envelope{ID: "1", Source: "/test", Time: time.Unix(1, 0)}, foreignEvent{name})
		if err == nil || !strings.Contains(err.Error(), "is not an event of this package") {
			t.Errorf("%s: encoding an event of another package returns %v, want an error", name, err)
		}
	}
}
