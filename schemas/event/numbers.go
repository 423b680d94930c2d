package event

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// TypeNumbersAssigned is an event of TopicAccounts.
const TypeNumbersAssigned Type = "dev.quarry.numbers.assigned.v1"

// MaxNumbered bounds the repositories and the connections, each, of a NumbersAssigned.
const MaxNumbered = 1000

// NumbersAssigned gives each repository and each connection that it names the next number
// of its kind, in the order of the event. It has no effect on those that already have a
// number, so several processes may append it for the same ones. The numbers follow from
// the log and are not part of the event.
type NumbersAssigned struct {
	Repositories []code.RepositoryID `json:"repositories,omitempty"`
	// Connections are names. At least one repository or connection is named.
	Connections []string  `json:"connections,omitempty"`
	At          time.Time `json:"at"`
}

// EventType implements Event.
func (*NumbersAssigned) EventType() Type { return TypeNumbersAssigned }

// Key implements Event. It returns 0, because the topic has one partition.
func (*NumbersAssigned) Key() code.RepositoryID { return 0 }

func (c *checker) checkNumbersAssigned(e *NumbersAssigned) {
	if len(e.Repositories)+len(e.Connections) == 0 {
		c.addErrorf("repositories and connections: want at least one")
	}
	if len(e.Repositories) > MaxNumbered || len(e.Connections) > MaxNumbered {
		c.addErrorf("repositories and connections: %d and %d, at most %d", len(e.Repositories), len(e.Connections), MaxNumbered)
		return
	}
	for _, id := range e.Repositories {
		c.checkRepositoryID(id)
	}
	for _, name := range e.Connections {
		c.checkText("connections", name, 1, MaxConnectionBytes)
	}
	c.checkTimeSet("at", e.At)
}
