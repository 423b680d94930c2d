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

// Errors of translators, wrapped with details. The receiver maps them to statuses.
var (
	// ErrUnauthenticated means that the delivery's signature is missing or wrong.
	ErrUnauthenticated = errors.New("delivery is not authenticated")
	// ErrUnsignedTest means that the delivery is a connection test, which the host does
	// not sign. It wraps ErrUnauthenticated. The receiver answers 200 and records
	// nothing.
	ErrUnsignedTest = fmt.Errorf("%w: the host does not sign its connection test", ErrUnauthenticated)
	// ErrNotJSON means that the body is not JSON.
	ErrNotJSON = errors.New("body is not JSON")
	// ErrInvalidPayload means that the body is JSON but not a payload of the host.
	ErrInvalidPayload = errors.New("payload is not valid")
)

// MaxPushes bounds the pushes of one delivery. No host reports more refs in one delivery.
const MaxPushes = 1000

// Connection is one configured webhook.
type Connection struct {
	// Name is the last element of the webhook's URL: 1 to 64 characters of A-Z a-z 0-9 .
	// _ -.
	Name string
	Kind code.HostKind
	// URL is the base URL of the host. If empty, the kind's public host is used, if there
	// is one.
	URL string
	// WebURL is the base URL of the host's pages, if it is another.
	WebURL string
	// Secrets authenticate deliveries, in the form the kind defines. Any of them is
	// accepted, so that a secret can be rotated without rejecting deliveries.
	Secrets []string
	// Addresses are the networks that deliveries must come from; empty allows any. Only
	// kinds of hosts that do not sign use them, and then need no secret.
	Addresses []netip.Prefix
	// AllowToken accepts the secret itself as "Authorization: Bearer …" from senders that
	// cannot sign, unless the kind of host defines another rule.
	AllowToken bool
	// Repositories are names that a delivery may use instead of a clone URL.
	Repositories map[string]string
	// AutoRegister registers a repository at its first delivery; otherwise
	// deliveries for unknown repositories are refused.
	AutoRegister bool
	// Branches are the branch globs of repositories registered by this connection.
	Branches []string
	// Tags are their tag globs.
	Tags []string
	// Submodules is the value of code.Repository.Submodules for these repositories.
	Submodules bool
}

// Open checks c and returns its translator.
type Open func(c Connection) (Translator, error)

// Request is one delivery as received.
type Request struct {
	Header http.Header
	// Client is the address of the sender, also behind trusted proxies; invalid if
	// unknown.
	Client netip.Addr
	// Query holds the URL's parameters, for hosts that neither sign nor send headers.
	Query url.Values
	// Body is the raw body. The translator must not retain or modify it.
	Body []byte
	// ReceivedAt is the time on the receiver's clock; signed times are checked against
	// it.
	ReceivedAt time.Time
}

// Translator translates the deliveries of one connection.
type Translator interface {
	// Verify returns nil if the delivery is authentic: one of the connection's secrets
	// matches, in constant time, or, without secrets, one of its Addresses. Otherwise its
	// error wraps ErrUnauthenticated.
	Verify(r *Request) error
	// DeliveryID returns the sender's ID of the delivery, unverified and unmodified, or
	// an empty string if there is none.
	DeliveryID(r *Request) string
	// Translate returns the meaning of the delivery. Its errors wrap ErrNotJSON or
	// ErrInvalidPayload.
	Translate(r *Request) (Delivery, error)
}

// Outcome is the kind of change that a delivery announces.
type Outcome string

// The outcomes of a translation.
const (
	// Pushed: the refs of Delivery.Pushes moved.
	Pushed Outcome = "pushed"
	// Changed: the description of Delivery.Repository may have changed.
	Changed Outcome = "changed"
	// Removed: the host may have deleted the repository.
	Removed Outcome = "removed"
	// AccessChanged: the host's permissions on Delivery.Repository may have changed, or
	// on any repository of the connection if it is zero. Delivery.Reason explains why the
	// delivery is ignored if permissions are not read.
	AccessChanged Outcome = "access_changed"
	// Ignored: nothing to do; Delivery.Reason explains why.
	Ignored Outcome = "ignored"
)

// Delivery is the meaning of a request.
type Delivery struct {
	// ID is the host's ID of the delivery; empty if it sends none.
	ID      string
	Outcome Outcome
	// Reason states briefly why the delivery is ignored.
	Reason string
	// Repository is the repository described by the payload, with an ID derived from the
	// host's identity of it. Connection, Branches and Tags are not set.
	Repository code.Repository
	// Identity is the host's own identity of Repository, by which its API finds it; empty
	// if the host has no API.
	Identity string `json:",omitempty"`
	// OmitsPrivate means that the payload does not say whether Repository is private:
	// Repository.Private does not count.
	OmitsPrivate bool `json:",omitempty"`
	// RemovedUser is the host's ID of the user who lost access with an Outcome
	// AccessChanged; empty if the delivery names none.
	RemovedUser string `json:",omitempty"`
	// Pushes are at most MaxPushes. The receiver fills in Repository, Connection,
	// DeliveryID, BodySHA256 and ReceivedAt.
	Pushes []event.Push
	// RefusedRefs are the reasons why other refs of the delivery are not indexed: their
	// names.
	RefusedRefs []string `json:",omitempty"`
}

// Move describes a ref that went from before to after, both in the host's notation: all
// zeros mean that the ref did not or does not exist, and empty means that the host does not
// say. Errors wrap ErrInvalidPayload.
func Move(ref, before, after string) (event.Push, error) {
	p := event.Push{Ref: code.Ref(ref), Action: event.ActionUpdated}
	if err := p.Ref.Validate(); err != nil {
		return event.Push{}, &refNameError{err}
	}
	var err error
	if before != "" {
		p.Before, err = code.ParseCommitID(before)
	}
	if err == nil && after != "" {
		p.After, err = code.ParseCommitID(after)
	}
	if err != nil {
		return event.Push{}, fmt.Errorf("%w: %w", ErrInvalidPayload, err)
	}
	switch {
	case after != "" && p.After == "":
		p.Action = event.ActionDeleted
	case before != "" && p.Before == "":
		p.Action = event.ActionCreated
	}
	return p, nil
}

// Text makes free text of a payload suitable for an event: it removes control characters
// and truncates it to max bytes at a character boundary.
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
