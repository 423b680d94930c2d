package segmentstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// IdentityName is the name of the object with the identity of a store. It is written once.
const IdentityName = "identity"

// maxIdentityBytes bounds the object with the identity.
const maxIdentityBytes = 2 * event.StoreIdentityBytes

// ErrOtherStore reports that the directory is empty or belongs to another store: it may
// have been unmounted. Callers retry, as for every store that is unavailable.
var ErrOtherStore = errors.New("not the segment store of this log")

// requiredIdentity compares the identity of a store with the one that it must have. An
// object is reported as missing only if the identity is confirmed after the object was
// looked for, so that an unmounted file system is not mistaken for lost objects.
type requiredIdentity struct {
	// store is the directory or the address of the store, for messages.
	store string
	// read returns the object IdentityName, or code.ErrNotFound.
	read func(ctx context.Context) ([]byte, error)
	// fresh is the time for which a confirmation is good enough for a change; 0: none.
	fresh     time.Duration
	confirmed atomic.Int64           // time of the last confirmation, in nanoseconds
	want      atomic.Pointer[string] // nil or empty: any
}

// require makes check fail with ErrOtherStore while the store has another identity than
// want. An empty want requires nothing.
func (r *requiredIdentity) require(want string) {
	r.want.Store(&want)
	r.confirmed.Store(0)
}

// find returns the identity of the store, or code.ErrNotFound if it has none.
func (r *requiredIdentity) find(ctx context.Context) (string, error) {
	b, err := r.read(ctx)
	if err != nil {
		return "", fmt.Errorf("segment store %s: identity: %w", r.store, err)
	}
	id := strings.TrimSpace(string(b))
	if !event.ValidStoreIdentity(id) {
		return "", fmt.Errorf("segment store %s: identity: %w: %.80q", r.store, ErrCorrupt, id)
	}
	return id, nil
}

// check returns ErrOtherStore if the store has another identity than required.
func (r *requiredIdentity) check(ctx context.Context) error {
	want := r.want.Load()
	if want == nil || *want == "" {
		return nil
	}
	found, err := r.find(ctx)
	switch {
	case errors.Is(err, code.ErrNotFound):
		return fmt.Errorf("%w: %s has no identity, want %s", ErrOtherStore, r.store, *want)
	case err != nil:
		return err
	case found != *want:
		return fmt.Errorf("%w: %s has identity %s, want %s", ErrOtherStore, r.store, found, *want)
	}
	r.confirmed.Store(time.Now().UnixNano())
	return nil
}

// checkChange is check for a change of the store: a fresh confirmation is good enough.
func (r *requiredIdentity) checkChange(ctx context.Context) error {
	if age := time.Now().UnixNano() - r.confirmed.Load(); age >= 0 && age < int64(r.fresh) {
		return ctx.Err()
	}
	return r.check(ctx)
}

// confirmMissing returns ErrOtherStore in place of code.ErrNotFound if this is not the
// required store.
func (r *requiredIdentity) confirmMissing(ctx context.Context, err error) error {
	if !errors.Is(err, code.ErrNotFound) {
		return err
	}
	if other := r.check(ctx); other != nil {
		return other
	}
	return code.ErrNotFound
}

// RequireIdentity implements Driver.
func (d *Directory) RequireIdentity(want string) { d.identity.require(want) }

// Identity implements Driver.
func (d *Directory) Identity(ctx context.Context) (string, error) { return d.identity.find(ctx) }

func (d *Directory) readIdentity(ctx context.Context) ([]byte, error) {
	b, err := d.readObject(ctx, IdentityName, maxIdentityBytes)
	return b, notFound(err)
}

// WriteIdentity implements Driver.
func (d *Directory) WriteIdentity(ctx context.Context, id string) error {
	target, err := d.objectPath(IdentityName)
	if err == nil {
		err = errors.Join(ctx.Err(), d.ensureDirectory())
	}
	if err == nil && !fileExists(target) {
		err = d.write(target, strings.NewReader(id+"\n"))
	}
	if err != nil {
		return fmt.Errorf("segment store %s: write identity: %w", d.dir, err)
	}
	return nil
}

// IsEmpty implements Driver.
func (d *Directory) IsEmpty(ctx context.Context) (bool, error) { return isEmpty(d.list(ctx)) }

func isEmpty(objects iter.Seq2[Info, error]) (bool, error) {
	for info, err := range objects {
		if err != nil || info.Name != IdentityName {
			return false, err
		}
	}
	return true, nil
}
