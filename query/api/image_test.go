package api_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
)

// fakePictures has one picture, or fails.
type fakePictures struct {
	err   error
	loads []code.RepositoryID
}

func (f *fakePictures) Load(_ context.Context, r *code.Repository) (body []byte, contentType string, err error) {
	f.loads = append(f.loads, r.ID)
	return []byte("GIF89a"), "image/gif", f.err
}

// TestPicturesOfRepositories checks that only callers who may read a repository get its
// picture, and that an error reveals nothing about the network.
func TestPicturesOfRepositories(t *testing.T) {
	w, pictures := newWorld(), &fakePictures{}
	o := w.serverOptions()
	o.Pictures = pictures
	s := newServer(t, o)
	get := func(path, tag string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("If-None-Match", tag)
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		return rec
	}
	path := "/api/repos/" + kettleID.String() + "/image"
	rec := get(path, "")
	h := rec.Header()
	if rec.Code != http.StatusOK || rec.Body.String() != "GIF89a" || h.Get("Content-Type") != "image/gif" || h.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.HasPrefix(h.Get("Cache-Control"), "private,") || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || !strings.Contains(h.Get("Vary"), "Cookie") {
		t.Errorf("%d %q %v", rec.Code, rec.Body, h)
	}
	if again := get(path, h.Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("with its ETag: %d", again.Code)
	}
	pictures.err = errors.New("dial tcp 10.1.2.3:80: connection refused")
	if rec := get(path, ""); rec.Code != http.StatusNotFound || strings.Contains(rec.Body.String(), "10.1.2.3") {
		t.Errorf("without a picture: %d %s", rec.Code, rec.Body)
	}
	pictures.loads, pictures.err = nil, nil
	if rec := get("/api/repos/999999/image", ""); rec.Code != http.StatusNotFound || len(pictures.loads) > 0 {
		t.Errorf("unknown repository: %d, loads %v", rec.Code, pictures.loads)
	}
	o.Pictures = nil
	s = newServer(t, o)
	if rec := get(path, ""); rec.Code != http.StatusServiceUnavailable {
		t.Errorf("in a process that fetches no pictures: %d", rec.Code)
	}
}
