package ingest

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Errors of translators, wrapped with what was wrong. The receiver maps them to
// statuses.
var (
	// ErrUnauthenticated says that the delivery's signature is missing or wrong.
	ErrUnauthenticated = errors.New("delivery is not authenticated")
	// ErrUnsignedTest says that the delivery is the test of a connection, which its host does
	// not sign. It wraps ErrUnauthenticated. The receiver answers 200 and records nothing.
	ErrUnsignedTest = fmt.Errorf("%w: the host does not sign its connection test", ErrUnauthenticated)
	// ErrNotJSON says that the body is not JSON.
	ErrNotJSON = errors.New("body is not JSON")
	// ErrInvalidPayload says that the body is JSON but not what the host sends.
	ErrInvalidPayload = errors.New("payload is not valid")
)

// MaxPushes bounds the pushes of one delivery: more refs than any host reports
// at once.
const MaxPushes = 1000

// Connection is one configured hook.
type Connection struct {
	// Name is the last element of the hook's URL: 1 to 64 of A-Z a-z 0-9 . _ -.
	Name string
	Kind code.HostKind
	// URL is the base URL of the host. Empty means the kind's public host, where
	// there is one.
	URL string
	// Secrets authenticate deliveries, in the form the kind defines. Several are
	// accepted at once, so that a secret can be rotated without a gap.
	Secrets []string
	// Addresses are networks that deliveries have to come from; empty: any. Only a kind of
	// host that does not sign has them, and needs no secret with them.
	Addresses []netip.Prefix
	// AllowToken accepts the secret itself as "Authorization: Bearer …" from
	// senders that cannot sign, where the kind of host has no other rule.
	AllowToken bool
	// Repositories are names that a delivery may use instead of a clone URL.
	Repositories map[string]string
	// AutoRegister registers a repository at its first delivery; otherwise
	// deliveries for unknown repositories are refused.
	AutoRegister bool
	// Branches are the branch globs a repository registered by this connection
	// gets.
	Branches []string
	// Tags are the tag globs that it gets.
	Tags []string
}

// Open checks c and returns its translator.
type Open func(c Connection) (Translator, error)

// Request is one delivery as it came in.
type Request struct {
	Header http.Header
	// Client is the address of the sender, behind trusted proxies as well; invalid if it is
	// not known.
	Client netip.Addr
	// Query is that of the URL, for hosts that neither sign nor send headers.
	Query url.Values
	// Body is the raw body. The translator must not keep or change it.
	Body []byte
	// ReceivedAt is the receiver's clock; signatures with a time are checked
	// against it.
	ReceivedAt time.Time
}

// Translator reads the deliveries of one connection.
type Translator interface {
	// Verify returns nil if one of the connection's secrets authenticates the
	// delivery, in constant time, or its Addresses do without a secret, and an error
	// that wraps ErrUnauthenticated otherwise.
	Verify(r *Request) error
	// DeliveryID returns what the sender calls the delivery, verified or not, and
	// as it came: any text. Empty if it does not say.
	DeliveryID(r *Request) string
	// Translate says what the delivery means. Its errors wrap ErrNotJSON or
	// ErrInvalidPayload.
	Translate(r *Request) (Delivery, error)
}

// Outcome is the kind of change that a delivery announces.
type Outcome string

// The outcomes of a translation.
const (
	// Pushed: the refs of Delivery.Pushes moved.
	Pushed Outcome = "pushed"
	// Changed: Delivery.Repository replaces what is known of the repository.
	Changed Outcome = "changed"
	// Removed: the repository is gone from its host.
	Removed Outcome = "removed"
	// AccessChanged: the permissions of Delivery.Repository at its host may have changed; if
	// the repository is zero, those of any repository of the connection. Delivery.Reason
	// says why it is ignored if permissions are not read.
	AccessChanged Outcome = "access_changed"
	// Ignored: nothing to do; Delivery.Reason says why.
	Ignored Outcome = "ignored"
)

// Delivery is what a request says.
type Delivery struct {
	// ID is the host's ID of the delivery; empty if it gives none.
	ID      string
	Outcome Outcome
	// Reason says in a few words why the delivery is ignored.
	Reason string
	// Repository is the repository described by the payload, with an ID derived
	// from the host's own identity of it. Connection, Branches and Tags are not
	// set.
	Repository code.Repository
	// Omitted are members of Repository that the payload of an Outcome Changed leaves
	// out: what is registered stays.
	Omitted Omitted `json:",omitzero"`
	// Pushes are at most MaxPushes. The receiver fills Repository, Connection,
	// DeliveryID, BodySHA256 and ReceivedAt.
	Pushes []event.Push
}

// Omitted names members of a repository that not every payload has.
type Omitted struct{ Fork, Archived, Private bool }

// Move describes a ref that went from before to after, both as the host writes
// them: all zeros mean that the ref did not or does not exist. Its errors wrap
// ErrInvalidPayload.
func Move(ref, before, after string) (event.Push, error) {
	p := event.Push{Ref: code.Ref(ref), Action: event.ActionUpdated}
	err := p.Ref.Validate()
	if err == nil && before != "" {
		p.Before, err = code.ParseCommitID(before)
	}
	if err == nil && after != "" {
		p.After, err = code.ParseCommitID(after)
	}
	if err != nil {
		return event.Push{}, fmt.Errorf("%w: %w", ErrInvalidPayload, err)
	}
	switch {
	case before == "" && after == "":
		p.Action = event.ActionRefresh
	case after != "" && p.After == "":
		p.Action = event.ActionDeleted
	case before != "" && p.Before == "":
		p.Action = event.ActionCreated
	}
	return p, nil
}

// Text makes free text of a payload fit for an event: without control
// characters and of at most max bytes, cut between two characters.
func Text(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}
