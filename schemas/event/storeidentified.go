package event

import (
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// TypeStoreIdentified is an event of TopicAccounts.
const TypeStoreIdentified Type = "dev.quarry.store.identified.v1"

// StoreIdentityBytes is the length of the identity of a segment store.
const StoreIdentityBytes = 32

// StoreIdentified records the identity of the segment store that belongs to the log. It
// has an effect only if Replaces is the identity that the log recorded before, so of
// several processes that append it concurrently, the first one decides.
type StoreIdentified struct {
	// Store is the identity, 32 hexadecimal characters.
	Store string `json:"store"`
	// Replaces is the identity that this one replaces; empty for the first.
	Replaces string    `json:"replaces,omitempty"`
	At       time.Time `json:"at"`
}

// EventType implements Event.
func (*StoreIdentified) EventType() Type { return TypeStoreIdentified }

// Key implements Event. It returns 0, because the topic has one partition.
func (*StoreIdentified) Key() code.RepositoryID { return 0 }

// ValidStoreIdentity reports whether s can be the identity of a segment store.
func ValidStoreIdentity(s string) bool {
	return len(s) == StoreIdentityBytes && strings.Trim(s, "0123456789abcdef") == ""
}

func (c *checker) checkStoreIdentified(e *StoreIdentified) {
	if !ValidStoreIdentity(e.Store) {
		c.addErrorf("store: %.80q is not %d hexadecimal characters", e.Store, StoreIdentityBytes)
	}
	if e.Replaces != "" && (!ValidStoreIdentity(e.Replaces) || e.Replaces == e.Store) {
		c.addErrorf("replaces: %.80q is not another identity", e.Replaces)
	}
	c.checkTimeSet("at", e.At)
}
