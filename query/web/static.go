package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed static
var staticFiles embed.FS

// assets are the static files under names that contain a hash of their content, so
// that browsers may cache them forever.
type assets struct {
	urls map[string]string // by plain name
	body map[string][]byte // by URL
}

const staticPrefix = "/static/"

func newAssets() (*assets, error) {
	a := &assets{urls: map[string]string{}, body: map[string][]byte{}}
	entries, err := fs.ReadDir(staticFiles, "static")
	if err != nil {
		return nil, fmt.Errorf("web: static files: %w", err)
	}
	for _, e := range entries {
		body, err := staticFiles.ReadFile("static/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("web: static files: %w", err)
		}
		sum := sha256.Sum256(body)
		extension := path.Ext(e.Name())
		u := staticPrefix + strings.TrimSuffix(e.Name(), extension) + "-" + hex.EncodeToString(sum[:6]) + extension
		a.urls[e.Name()], a.body[u] = u, body
	}
	return a, nil
}

// assetURL returns the address of a static file; templates call it.
func (a *assets) assetURL(name string) (string, error) {
	u, ok := a.urls[name]
	if !ok {
		return "", fmt.Errorf("web: no static file %q", name)
	}
	return u, nil
}

// ServeHTTP implements http.Handler.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, ok := a.body[r.URL.Path]
	if !ok {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(r.URL.Path)))
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
