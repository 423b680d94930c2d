package api

import (
	"fmt"
	"net/http"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// imageCache is how long a browser may cache a picture. Shared caches must not store it:
// only some callers may know that the repository exists.
const imageCache = "private, max-age=3600"

// showImage responds with the picture of a repository. On an error the caller only learns
// that there is no picture: the reason may contain addresses of our own network.
func (s *Server) showImage(r *http.Request) (*reply, error) {
	repository, err := s.visibleByID(r)
	if err != nil {
		return nil, err
	}
	if s.o.Pictures == nil {
		return nil, fmt.Errorf("%w: this process does not fetch images", failure.ErrUnavailable)
	}
	body, contentType, err := s.o.Pictures.Load(r.Context(), &repository)
	if ended := r.Context().Err(); ended != nil {
		return nil, ended
	}
	if err != nil {
		s.o.Logger.DebugContext(r.Context(), "loading a repository image failed", "repository", repository.Name, "repository_id", repository.ID, "error", err)
		return nil, fmt.Errorf("image of the repository: %w", code.ErrNotFound)
	}
	picture := newDescription(contentType, body)
	picture.header.Set("Cache-Control", imageCache)
	picture.header.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	picture.header.Set("Vary", "Authorization, Cookie, Origin")
	return picture.replyTo(r), nil
}
