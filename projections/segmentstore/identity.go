package segmentstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// IdentityName is the name of the object with the identity of a store. It is written once.
const IdentityName = "identity"

// ErrOtherStore reports that the directory is empty or belongs to another store: it may
// have been unmounted. Callers retry, as for every store that is unavailable.
var ErrOtherStore = errors.New("not the segment store of this log")

// RequireIdentity makes every operation fail with ErrOtherStore while the store has
// another identity than want. An object is reported as missing only if the identity is
// confirmed after the object was looked for, so that an unmounted file system is not
// mistaken for lost objects. An empty want requires nothing.
func (d *Directory) RequireIdentity(want string) { d.identity.Store(&want) }

// Identity returns the identity of the store, or code.ErrNotFound if it has none.
func (d *Directory) Identity(ctx context.Context) (string, error) {
	b, err := d.readObject(ctx, IdentityName, 2*event.StoreIdentityBytes)
	if err != nil {
		return "", fmt.Errorf("segment store %s: identity: %w", d.dir, notFound(err))
	}
	id := strings.TrimSpace(string(b))
	if !event.ValidStoreIdentity(id) {
		return "", fmt.Errorf("segment store %s: identity: %w: %.80q", d.dir, ErrCorrupt, id)
	}
	return id, nil
}

// WriteIdentity gives a store without an identity this one. If another process was
// faster, the store keeps the identity of that process, which the caller must read.
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

// IsEmpty reports whether the store has no objects besides its identity.
func (d *Directory) IsEmpty(ctx context.Context) (bool, error) {
	for info, err := range d.list(ctx) {
		if err != nil || info.Name != IdentityName {
			return false, err
		}
	}
	return true, nil
}

// checkIdentity returns ErrOtherStore if the store has another identity than required.
func (d *Directory) checkIdentity(ctx context.Context) error {
	want := d.identity.Load()
	if want == nil || *want == "" {
		return nil
	}
	found, err := d.Identity(ctx)
	switch {
	case errors.Is(err, code.ErrNotFound):
		return fmt.Errorf("%w: %s has no identity, want %s", ErrOtherStore, d.dir, *want)
	case err != nil:
		return err
	case found != *want:
		return fmt.Errorf("%w: %s has identity %s, want %s", ErrOtherStore, d.dir, found, *want)
	}
	return nil
}

// confirmMissing converts the error of a missing file to code.ErrNotFound if this is the
// required store, and to ErrOtherStore otherwise.
func (d *Directory) confirmMissing(ctx context.Context, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if other := d.checkIdentity(ctx); other != nil {
		return other
	}
	return code.ErrNotFound
}
