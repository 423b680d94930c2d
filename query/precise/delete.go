package precise

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// UploadID returns the ID of an upload: the checksum in the name of its object. It is
// unique within the repository.
func UploadID(u *event.ScipUploaded) string {
	return u.Object[strings.LastIndexByte(u.Object, '-')+1:]
}

// Delete announces that an upload is deleted. Answers no longer use it as soon as Uploads
// shows the deletion, and Sweep deletes its object later. Delete returns code.ErrNotFound
// if the repository has no upload with that ID.
func (s *Store) Delete(ctx context.Context, of *code.Repository, id string) (*event.ScipUploaded, error) {
	object := segmentstore.ScipName(of.ID, id)
	uploads := s.o.Uploads.Uploads(of.ID)
	for i := range uploads {
		u := &uploads[i]
		if u.Object != object {
			continue
		}
		at, err := s.o.Log.Announce(ctx, &event.ScipDeleted{Repository: of.ID, Object: object, At: time.Now().UTC()})
		if err != nil {
			return nil, fmt.Errorf("delete the precise index %s of %s: %w", id, of.Name, err)
		}
		s.o.Logger.InfoContext(ctx, "precise index deleted by an owner", "repository", of.Name, "commit", string(u.Commit), "path", u.Path, "tool", u.Tool, "position", at.String())
		return u, nil
	}
	return nil, fmt.Errorf("precise index %.40q of %s: %w", id, of.Name, code.ErrNotFound)
}
