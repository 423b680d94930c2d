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
}

// addEvents fills b with the events of d and returns the repository that they register,
// if any. If there is nothing to append, it returns the reason.
func (r *Receiver) addEvents(ctx context.Context, b *batch, d ingest.Delivery) (registering code.RepositoryID, reason string, err error) {
	found, known, err := r.findRepository(ctx, b.connection, d.Repository)
	if err != nil {
		return 0, "", err
	}
	switch {
	case known && d.Outcome == ingest.Pushed:
		b.repository = found
		return 0, "", b.addPushes(d.Pushes)
	case known && r.o.Repositories == nil:
		return 0, "this process has no catalog to change the repository in", nil
	case known && d.Outcome == ingest.Changed:
		b.repository = mergeRepository(found, &d, b.connection.Name)
		return 0, "", b.addEvent("changed", &event.RepositoryChanged{Repository: b.repository, At: b.at})
	case known:
		b.repository = found
		return 0, "", b.addEvent("removed", &event.RepositoryRemoved{Repository: found.ID, Reason: d.Reason, At: b.at})
	case d.Repository.ID == 0:
		return 0, "", fmt.Errorf("%w: %.80q is neither a clone URL nor the name of a registered repository", errUnknownRepository, repositoryName(d.Repository))
	case !b.connection.AutoRegister || d.Outcome != ingest.Pushed:
		return 0, fmt.Sprintf("repository %s is not registered", repositoryName(d.Repository)), nil
	}
	return d.Repository.ID, "", r.addRegistration(ctx, b, d)
}

// findRepository returns the registered repository, or, without a catalog, the payload's
// repository, which counts as known unless its connection has yet to register it.
func (r *Receiver) findRepository(ctx context.Context, c *connection, candidate code.Repository) (code.Repository, bool, error) {
	if r.o.Repositories == nil {
		known := candidate.ID != 0 && (!c.AutoRegister || r.registered.containsID(candidate.ID))
		return candidate, known, nil
	}
	found, err := r.o.Repositories.Find(ctx, candidate)
	if errors.Is(err, code.ErrNotFound) {
		return code.Repository{}, false, nil
	}
	if err != nil {
		return code.Repository{}, false, fmt.Errorf("%w: find repository %s: %w", errUnavailable, repositoryName(candidate), err)
	}
	return found, true, nil
}

// addRegistration adds the registration before the pushes.
func (r *Receiver) addRegistration(ctx context.Context, b *batch, d ingest.Delivery) error {
	b.repository = d.Repository
	b.repository.Connection = b.connection.Name
	b.repository.Branches, b.repository.Tags, b.repository.Submodules = b.connection.Branches, b.connection.Tags, b.connection.Submodules
	if err := r.o.Admit(ctx, b.repository); err != nil {
		return fmt.Errorf("%w: repository %s: %w", errRefused, repositoryName(b.repository), err)
	}
	if err := b.addEvent("registered", &event.RepositoryRegistered{Repository: b.repository, At: b.at}); err != nil {
		return err
	}
	return b.addPushes(d.Pushes)
}

// mergeRepository applies the host's description of a registered repository. It keeps
// Quarry's own settings, members that the payload omits, and a name chosen at
// registration.
func mergeRepository(registered code.Repository, d *ingest.Delivery, connection string) code.Repository {
	out, described := registered, &d.Repository
	if registered.Connection == connection {
		out.Name, out.DisplayName = described.Name, described.DisplayName
	}
	out.CloneURL = described.CloneURL
	out.WebURL = cmp.Or(described.WebURL, out.WebURL)
	out.ImageURL = cmp.Or(described.ImageURL, out.ImageURL)
	out.Description = cmp.Or(described.Description, out.Description)
	out.DefaultBranch = cmp.Or(described.DefaultBranch, out.DefaultBranch)
	if !d.Omitted.Fork {
		out.Fork = described.Fork
	}
	if !d.Omitted.Archived {
		out.Archived = described.Archived
	}
	if !d.Omitted.Private {
		out.Private = described.Private
	}
	return out
}

func (b *batch) addPushes(pushes []event.Push) error {
	for _, p := range pushes {
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
