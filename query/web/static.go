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
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/query/front"
)

//go:embed static styles/*.css
var staticFiles embed.FS

// styleSheet is the name of the style sheet: the files of styles/ in name order, so that
// a page loads one.
const styleSheet = "quarry.css"

// styleNoise matches what a browser does not need in a style sheet, a tenth of its bytes:
// comments, and blanks at the ends of lines, after the colons of declarations and next to
// punctuation, which is kept.
var styleNoise = regexp.MustCompile(`(?s)/\*.*?\*/|\s*([{};,>])\s*|(\w:)\s+|\s*\n\s*`)

// assets are the static files under names that contain a hash of their content, so that
// browsers may cache them forever.
type assets struct {
	urls map[string]string // by plain name
	body map[string]asset  // by URL
}

type asset struct {
	body []byte
	tag  string
	// gzipped returns body compressed; the first request for it compresses it.
	gzipped func() []byte
}

const staticPrefix = "/static/"

// packAssets returns the assets of this program, which share what is compressed.
var packAssets = sync.OnceValues(newAssets)

func newAssets() (*assets, error) {
	a := &assets{urls: map[string]string{}, body: map[string]asset{}}
	entries, err := fs.ReadDir(staticFiles, "static")
	if err != nil {
		return nil, fmt.Errorf("web: static files: %w", err)
	}
	for _, e := range entries {
		body, err := staticFiles.ReadFile("static/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("web: static files: %w", err)
		}
		a.addFile(e.Name(), body)
	}
	styles, err := fs.Glob(staticFiles, "styles/*.css")
	if err != nil {
		return nil, fmt.Errorf("web: style sheet: %w", err)
	}
	var sheet []byte
	for _, name := range styles {
		body, err := staticFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("web: style sheet: %w", err)
		}
		sheet = append(append(sheet, body...), '\n')
	}
	a.addFile(styleSheet, styleNoise.ReplaceAll(sheet, []byte("$1$2")))
	return a, nil
}

// addFile adds a file under a name with the hash of its content.
func (a *assets) addFile(name string, body []byte) {
	sum := sha256.Sum256(body)
	hash, extension := hex.EncodeToString(sum[:6]), path.Ext(name)
	u := staticPrefix + strings.TrimSuffix(name, extension) + "-" + hash + extension
	a.urls[name] = u
	a.body[u] = asset{body: body, tag: hash, gzipped: sync.OnceValue(func() []byte { return front.Compress(body) })}
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
	file, ok := a.body[r.URL.Path]
	if !ok {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	body, tag := file.body, file.tag
	h := w.Header()
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(r.URL.Path)))
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Vary", "Accept-Encoding")
	if front.AcceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		body, tag = file.gzipped(), tag+"-gzip"
	}
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
