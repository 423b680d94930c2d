package webhook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	hostfailure "github.com/quarrysearch/quarry/schemas/failure"
)

// batch collects the records of one delivery.
type batch struct {
	connection *connection
	id         string // the delivery's
	key        [sha256.Size]byte
	body       string // hexadecimal hash
	at         time.Time
	repository code.Repository
	records    []event.Record
	// hinted means that the repository is read from its host, registers that the events
	// register it.
	hinted, registers bool
}

// addEvents fills b with the events of d, and adds a hint about what d says beyond them.
// It returns the repository that the events register, if any. If there is nothing to
// append and no hint, it returns the reason.
func (r *Receiver) addEvents(ctx context.Context, b *batch, d ingest.Delivery) (registering code.RepositoryID, reason string, err error) {
	found, known, err := r.findRepository(ctx, b.connection, d.Repository)
	if err != nil {
		return 0, "", err
	}
	switch {
	case known && d.Outcome == ingest.Pushed:
		b.repository = found
		if r.o.Repositories != nil && differs(found, &d, b.connection.Name) {
			r.addHint(b, &d)
		}
		return 0, "", b.addPushes(d.Pushes, saysPrivate(&d))
	case known:
		b.repository = found
		if r.o.Repositories != nil && !r.addHint(b, &d) {
			reason = "the repository is read from the host at the next sync"
		}
		if saysPrivate(&d) && (r.o.Repositories == nil || b.narrows(&d)) {
			return 0, "", b.addPushes([]event.Push{{Action: event.ActionRefresh}}, true)
		}
		if r.o.Repositories == nil {
			reason = "this process has no catalog to change the repository in"
		}
		return 0, reason, nil
	case d.Repository.ID == 0:
		return 0, "", fmt.Errorf("%w: %.80q is neither a clone URL nor the name of a registered repository", errUnknownRepository, repositoryName(d.Repository))
	case !b.connection.AutoRegister || d.Outcome != ingest.Pushed:
		return 0, fmt.Sprintf("repository %s is not registered", repositoryName(d.Repository)), nil
	}
	return d.Repository.ID, "", r.addRegistration(ctx, b, d)
}

// saysPrivate reports whether a delivery says that its repository is private.
func saysPrivate(d *ingest.Delivery) bool { return !d.OmitsPrivate && d.Repository.Private }

// narrows reports whether the pushes of a delivery make its repository private.
func (b *batch) narrows(d *ingest.Delivery) bool {
	return saysPrivate(d) && !b.repository.Private && (b.repository.Connection == "" || b.repository.Connection == b.connection.Name)
}

// differs reports whether a delivery describes a registered repository differently, so
// that it must be read from the host.
func differs(registered code.Repository, d *ingest.Delivery, connection string) bool {
	if !d.OmitsPrivate && d.Repository.Private != registered.Private {
		return true
	}
	return registered.Connection == connection && (d.Repository.Name != registered.Name || d.Repository.CloneURL != registered.CloneURL)
}

// addHint queues a hint about the repository of b, for the connection that it belongs to.
// It returns false if the hint is dropped.
func (r *Receiver) addHint(b *batch, d *ingest.Delivery) bool {
	if r.o.Hint == nil || d.Identity == "" {
		return false
	}
	h := b.hint(d)
	h.Connection = cmp.Or(b.repository.Connection, h.Connection)
	b.hinted = r.o.Hint(h)
	return b.hinted
}

func (b *batch) hint(d *ingest.Delivery) Hint {
	return Hint{Connection: b.connection.Name, Repository: d.Repository, Identity: d.Identity, Removed: d.Outcome == ingest.Removed, DeliveryID: b.id}
}

// findRepository returns the registered repository, or, without a catalog, the payload's
// repository, which counts as known unless its connection has yet to register it.
func (r *Receiver) findRepository(ctx context.Context, c *connection, candidate code.Repository) (code.Repository, bool, error) {
	if r.o.Repositories == nil {
		known := candidate.ID != 0 && (!c.AutoRegister || r.registered.containsID(candidate.ID))
		return candidate, known, nil
	}
	found, err := r.o.Repositories.Find(ctx, candidate)
	if id := r.identities.registeredID(candidate.ID); errors.Is(err, code.ErrNotFound) && id != 0 {
		// It was registered by hand and renamed since its last delivery. Its clone URL is
		// replaced once the host redirects to another one (ADR 37).
		found, err = r.o.Repositories.Find(ctx, code.Repository{ID: id})
	}
	if errors.Is(err, code.ErrNotFound) {
		return code.Repository{}, false, nil
	}
	if err != nil {
		return code.Repository{}, false, fmt.Errorf("%w: find repository %s: %w", errUnavailable, repositoryName(candidate), err)
	}
	r.identities.addIdentity(candidate.ID, found.ID)
	return found, true, nil
}

// addRegistration adds the registration before the pushes. The host describes the
// repository; if the payload cannot be confirmed, it is private.
func (r *Receiver) addRegistration(ctx context.Context, b *batch, d ingest.Delivery) error {
	if err := r.admit(ctx, d.Repository); err != nil {
		return err
	}
	confirmed, err := r.confirm(ctx, b, &d)
	switch {
	case err == nil:
		b.repository = confirmed
		if err := r.admit(ctx, confirmed); err != nil {
			return err
		}
	case !errors.Is(err, ErrUnconfirmed):
		return err
	case r.o.Repositories == nil && d.Identity != "":
		// It may be registered, and the payload must not replace a description that was
		// confirmed. If it is not registered, the worker ignores the pushes.
		b.repository = d.Repository
		return b.addPushes(d.Pushes, saysPrivate(&d))
	default:
		b.repository = d.Repository
		b.repository.Private = true
	}
	b.repository.Connection = b.connection.Name
	b.repository.Branches, b.repository.Tags, b.repository.Submodules = b.connection.Branches, b.connection.Tags, b.connection.Submodules
	b.registers = true
	if err := b.addEvent("registered", &event.RepositoryRegistered{Repository: b.repository, PrivateMark: new(event.Offset), At: b.at}); err != nil {
		return err
	}
	return b.addPushes(d.Pushes, saysPrivate(&d))
}

// admit checks whether a repository may be registered. If its host cannot be resolved
// now, the sender must send the delivery again: some hosts disable a webhook after a
// refusal.
func (r *Receiver) admit(ctx context.Context, repository code.Repository) error {
	err := r.o.Admit(ctx, repository)
	if err == nil {
		return nil
	}
	kind := errRefused
	switch hostfailure.CodeOf(err) {
	case hostfailure.Unreachable, hostfailure.Timeout, hostfailure.Canceled:
		kind = errUnavailable
	}
	return fmt.Errorf("%w: repository %s: %w", kind, repositoryName(repository), err)
}

// confirm returns the repository of a delivery as the host describes it.
func (r *Receiver) confirm(ctx context.Context, b *batch, d *ingest.Delivery) (code.Repository, error) {
	if r.o.Confirm == nil || d.Identity == "" {
		return code.Repository{}, ErrUnconfirmed
	}
	ctx, cancel := context.WithTimeout(ctx, r.o.AppendTimeout)
	defer cancel()
	confirmed, err := r.o.Confirm(ctx, b.hint(d))
	switch {
	case err == nil, errors.Is(err, ErrUnconfirmed):
		return confirmed, err
	case errors.Is(err, ErrHostLacks):
		return confirmed, fmt.Errorf("%w: repository %s: %w", errRefused, repositoryName(d.Repository), ErrHostLacks)
	}
	return confirmed, fmt.Errorf("%w: read repository %s from its host: %w", errUnavailable, repositoryName(d.Repository), err)
}

// addPushes adds pushes; private means that the delivery says that the repository is
// private.
func (b *batch) addPushes(pushes []event.Push, private bool) error {
	for _, p := range pushes {
		p.Private = private
		p.Repository = b.repository.ID
		p.Connection, p.DeliveryID, p.BodySHA256 = b.connection.Name, b.id, b.body
		p.ReceivedAt = b.at
		if err := b.addEvent("push\x00"+string(p.Ref), &p); err != nil {
			return err
		}
	}
	return nil
}

// addEvent encodes an event. step distinguishes the events of one delivery.
func (b *batch) addEvent(step string, ev event.Event) error {
	rec, err := event.Encode(event.Envelope{
		ID:     eventID(b.key, step),
		Source: b.connection.eventSource(),
		Time:   b.at,
	}, ev)
	if err != nil {
		// The payload caused the error, for example with a name that is too long.
		return fmt.Errorf("%w: %w", ingest.ErrInvalidPayload, err)
	}
	b.records = append(b.records, rec)
	return nil
}

// deliveryKey identifies a delivery. It covers the body, so that no pushes are lost if a
// sender uses the same ID for several deliveries.
func deliveryKey(connection, id string, body [sha256.Size]byte) [sha256.Size]byte {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s\x00%s\x00", connection, id)
	_, _ = h.Write(body[:])
	return [sha256.Size]byte(h.Sum(nil))
}

// eventIDBytes bytes of a hash are enough to distinguish events.
const eventIDBytes = 16

func eventID(delivery [sha256.Size]byte, step string) string {
	sum := sha256.Sum256(append(delivery[:], step...))
	return hex.EncodeToString(sum[:eventIDBytes])
}
