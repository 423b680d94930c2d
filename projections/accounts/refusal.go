package accounts

import (
	"encoding/binary"
	"fmt"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Refusal is the reason why an event had no effect; empty if it had one. The audit log
// shows it.
type Refusal string

// The reasons for which events are refused.
const (
	EmailTaken        Refusal = "email_taken"
	IdentityTaken     Refusal = "identity_taken"
	IDTaken           Refusal = "id_taken"   // of any object; also for an event that was appended twice
	HashTaken         Refusal = "hash_taken" // of a credential
	NameTaken         Refusal = "name_taken" // of a key or saved search
	NotFirst          Refusal = "not_first"  // of a first owner, if a user exists
	NotOwner          Refusal = "not_owner"  // of a first owner, if the user is not an active owner
	InvitationGone    Refusal = "invitation_gone"
	InvitationExpired Refusal = "invitation_expired"
	InvitationOther   Refusal = "invitation_other" // for another address or role
	UnknownUser       Refusal = "unknown_user"
	UserInactive      Refusal = "user_inactive"
	LastOwner         Refusal = "last_owner"
	Unchanged         Refusal = "unchanged"         // there is nothing to do
	PasswordReplaced  Refusal = "password_replaced" // another change has already replaced it
	SessionGone       Refusal = "session_gone"
	SessionReplaced   Refusal = "session_replaced" // another session has already replaced it
	KeyGone           Refusal = "key_gone"
	KeyExpired        Refusal = "key_expired"
	TokenGone         Refusal = "token_gone"
	SearchGone        Refusal = "search_gone" // of that user
	TooMany           Refusal = "too_many"    // a bound of this package
)

// refusals lists all reasons.
var refusals = []Refusal{
	EmailTaken, IdentityTaken, IDTaken, HashTaken, NameTaken, NotFirst, NotOwner, InvitationGone, InvitationExpired, InvitationOther,
	UnknownUser, UserInactive, LastOwner, Unchanged, PasswordReplaced, SessionGone, SessionReplaced, KeyGone, KeyExpired, TokenGone, SearchGone, TooMany,
}

// MaxRefusals bounds the stored refusals; the newest are kept.
const MaxRefusals = 10_000

// recentRefusals holds the newest refusals, in the order of their offsets.
type recentRefusals struct {
	offsets []event.Offset
	why     map[event.Offset]Refusal
	// forgotten is the offset after the last dropped refusal. Outcomes below it are
	// unknown.
	forgotten event.Offset
}

func (r *recentRefusals) add(at event.Offset, why Refusal) {
	r.offsets = append(r.offsets, at)
	r.why[at] = why
}

// dropOldest removes the oldest refusal. It copies the offsets from time to time, so that
// the slice does not grow without bound.
func (r *recentRefusals) dropOldest() {
	delete(r.why, r.offsets[0])
	r.forgotten = r.offsets[0] + 1
	r.offsets = r.offsets[1:]
	if cap(r.offsets) < len(r.offsets)+1 {
		r.offsets = append(make([]event.Offset, 0, 2*MaxRefusals), r.offsets...)
	}
}

func refusalKey(at event.Offset) []byte {
	return binary.BigEndian.AppendUint64([]byte{byte(store.FamilyAccounts), kindRefusal}, uint64(at))
}

// Outcome returns the reason why the event at a position of event.TopicAccounts had no
// effect, or "" if it had one. ok is false if the outcome is unknown, because the record
// is not applied yet or is older than the last MaxRefusals refusals. A projection that is
// applied after the Directory, to the same batch, may call it for the record that it
// applies.
func (d *Directory) Outcome(at event.Position) (why Refusal, ok bool) {
	if at.Topic != event.TopicAccounts {
		return "", false
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	if s := d.mu.staged; s != nil && s.at == at.Offset {
		return s.refusal, true
	}
	if at.Offset >= d.mu.next || at.Offset < d.mu.refused.forgotten {
		return "", false
	}
	return d.mu.refused.why[at.Offset], true
}

// loadRefusal loads a row.
func (d *Directory) loadRefusal(key, value []byte) error {
	if len(key) != 10 {
		return fmt.Errorf("accounts: row %q: want an offset of 8 bytes", key)
	}
	d.mu.refused.add(event.Offset(binary.BigEndian.Uint64(key[2:])), Refusal(value))
	return nil
}
