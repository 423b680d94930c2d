package event

import "strconv"

// definition describes one type of event for Encode and Decode.
type definition struct {
	new func() Event
	// check records the first rule that an event breaks. It returns false for an event of
	// another Go type.
	check func(c *checker, ev Event) bool
	// subject returns the subject of the event. If nil, the subject is the repository of
	// the event's key.
	subject func(ev Event) string
}

// definitions has a row for each type of event.
var definitions = map[Type]definition{
	TypePush:                 define((*checker).checkPush, nil),
	TypeRepositoryRegistered: define((*checker).checkRegistered, nil),
	TypeRepositoryChanged:    define((*checker).checkChanged, nil),
	TypeRepositoryRemoved:    define((*checker).checkRemoved, nil),
	TypeRevisionIndexed:      define((*checker).checkRevisionIndexed, nil),
	TypeSegmentsMerged:       define((*checker).checkSegmentsMerged, func(e *SegmentsMerged) string { return "partition/" + strconv.Itoa(int(e.Partition)) }),
	TypeDelivery:             define((*checker).checkDelivery, func(e *Delivery) string { return "connection/" + e.Connection }),
	TypePushesHandled:        define((*checker).checkPushesHandled, nil),
	TypeErasureRequested:     define((*checker).checkErasureRequested, nil),
	TypeScipUploaded:         define((*checker).checkScipUploaded, nil),
	TypeScipDeleted:          define((*checker).checkScipDeleted, nil),
	TypeSubmodulesListed:     define((*checker).checkSubmodulesListed, nil),
	TypePinsChanged:          define((*checker).checkPinsChanged, nil),
	TypeUserCreated:          define((*checker).checkUserCreated, func(e *UserCreated) string { return "user/" + string(e.User) }),
	TypeUserChanged:          define((*checker).checkUserChanged, func(e *UserChanged) string { return "user/" + string(e.User) }),
	TypeUserRemoved:          define((*checker).checkUserRemoved, func(e *UserRemoved) string { return "user/" + string(e.User) }),
	TypeInvitationCreated:    define((*checker).checkInvitationCreated, func(e *InvitationCreated) string { return "invitation/" + string(e.Invitation) }),
	TypeInvitationRevoked:    define((*checker).checkInvitationRevoked, func(e *InvitationRevoked) string { return "invitation/" + string(e.Invitation) }),
	TypeSessionStarted:       define((*checker).checkSessionStarted, func(e *SessionStarted) string { return "user/" + string(e.User) }),
	TypeSessionEnded:         define((*checker).checkSessionEnded, func(e *SessionEnded) string { return "user/" + string(e.User) }),
	TypeKeyCreated:           define((*checker).checkKeyCreated, func(e *KeyCreated) string { return "user/" + string(e.User) }),
	TypeKeyDeleted:           define((*checker).checkKeyDeleted, func(e *KeyDeleted) string { return "user/" + string(e.User) }),
	TypeTokenMinted:          define((*checker).checkTokenMinted, func(e *TokenMinted) string { return "user/" + string(e.User) }),
	TypeTokenRevoked:         define((*checker).checkTokenRevoked, func(e *TokenRevoked) string { return "token/" + string(e.Token) }),
	TypeAccessChanged:        define((*checker).checkAccessChanged, func(e *AccessChanged) string { return "repository/" + e.ID.String() }),
	TypeHostAccessRead:       define((*checker).checkHostAccessRead, func(e *HostAccessRead) string { return "connection/" + e.Connection }),
	TypeHostAccessConfirmed:  define((*checker).checkHostAccessConfirmed, func(e *HostAccessConfirmed) string { return "connection/" + e.Connection }),
	TypeHostAccessDoubted:    define((*checker).checkHostAccessDoubted, func(e *HostAccessDoubted) string { return "connection/" + e.Connection }),
	TypeActivityNoted:        define((*checker).checkActivityNoted, func(_ *ActivityNoted) string { return "activity" }),
	TypeSavedSearchChanged:   define((*checker).checkSavedSearchChanged, func(e *SavedSearchChanged) string { return "user/" + string(e.User) }),
	TypeNumbersAssigned:      define((*checker).checkNumbersAssigned, func(_ *NumbersAssigned) string { return "numbers" }),
	TypeStoreIdentified:      define((*checker).checkStoreIdentified, func(_ *StoreIdentified) string { return "store" }),
	TypeAuditRecorded:        define((*checker).checkAuditRecorded, func(_ *AuditRecorded) string { return "audit" }),
	TypeAuditSealed:          define((*checker).checkAuditSealed, func(_ *AuditSealed) string { return "audit" }),
}

func define[E any, P interface {
	*E
	Event
}](check func(c *checker, ev P), subject func(ev P) string) definition {
	d := definition{
		new: func() Event { return P(new(E)) },
		check: func(c *checker, ev Event) bool {
			e, ok := ev.(P)
			if ok {
				check(c, e)
			}
			return ok
		},
	}
	if subject != nil {
		d.subject = func(ev Event) string {
			if e, ok := ev.(P); ok {
				return subject(e)
			}
			return ""
		}
	}
	return d
}
