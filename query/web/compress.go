package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/query/front"
)

// Compressed pages. A page contains the query, which a link on another site can set, and
// secrets of the reader: the token of forms, and code. An attacker who sees the lengths
// of encrypted responses and makes a browser request many of them could infer the secrets
// from the injected query (BREACH) if both were compressed together. So a response is
// compressed only if the browser reports that the request comes from a page of this
// server or from the reader (Sec-Fetch-Site), and only if it responds to a GET: pages
// that show a new key or invitation respond to a POST. And the token is masked for each
// address (maskToken), so that it never appears in two responses to different queries.

const (
	// maxCompressors bounds the pages that are compressed concurrently, each with about
	// 800 kB of memory; more pages are sent uncompressed.
	maxCompressors = 32
	// minCompressed is the size below which compression is not worthwhile.
	minCompressed = 1400
)

// compressors are the free writers; nil for one that has not been created yet.
type compressors chan *gzip.Writer

func newCompressors() compressors {
	c := make(compressors, maxCompressors)
	for range maxCompressors {
		c <- nil
	}
	return c
}

// take returns a free writer to w, or nil. The caller must release it.
func (c compressors) take(w io.Writer) *gzip.Writer {
	select {
	case z := <-c:
		if z == nil {
			z, _ = gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is valid
			return z
		}
		z.Reset(w)
		return z
	default:
		return nil
	}
}

func (c compressors) release(z *gzip.Writer) {
	z.Reset(io.Discard)
	c <- z
}

// mayCompress reports whether the response to a request may be compressed. Old browsers
// and programs do not report where a request comes from: over http, where nothing is
// encrypted, that does not matter.
func (s *Server) mayCompress(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
	case "":
		if s.public.IsSecure() {
			return false
		}
	default:
		return false
	}
	return r.Method == http.MethodGet && front.AcceptsGzip(r)
}

// takeCompressor returns a free writer to w if the response to a request may be compressed,
// or nil. The caller must release it.
func (s *Server) takeCompressor(r *http.Request, w io.Writer) *gzip.Writer {
	if !s.mayCompress(r) {
		return nil
	}
	return s.compressors.take(w)
}

// compressPage returns a whole page, compressed if that is allowed and worthwhile, and
// sets the header accordingly.
func (s *Server) compressPage(h http.Header, r *http.Request, page []byte) ([]byte, error) {
	h.Add("Vary", "Accept-Encoding, Sec-Fetch-Site")
	if len(page) < minCompressed {
		return page, nil
	}
	var packed bytes.Buffer
	z := s.takeCompressor(r, &packed)
	if z == nil {
		return page, nil
	}
	defer s.compressors.release(z)
	_, err := z.Write(page)
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("web: compress a page: %w", err)
	}
	h.Set("Content-Encoding", "gzip")
	return packed.Bytes(), nil
}

// partTimeout bounds writing a part of a page: slower readers are disconnected.
const partTimeout = 15 * time.Second

// A partWriter writes a page in parts, each of which the browser can display as it
// arrives. The page is compressed if that is allowed.
type partWriter struct {
	s       *Server
	w       http.ResponseWriter
	r       *http.Request
	control *http.ResponseController
	gzip    *gzip.Writer // nil if the page is not compressed
	begun   bool         // a part has been written
	err     error        // the first of a write: usually the reader has disconnected
}

func (s *Server) newPartWriter(w http.ResponseWriter, r *http.Request) *partWriter {
	return &partWriter{s: s, w: w, r: r, control: http.NewResponseController(w)}
}

// writePart sends a part immediately. After an error it writes nothing more.
func (p *partWriter) writePart(part []byte) error {
	if p.err != nil {
		return p.err
	}
	if !p.begun {
		p.beginPage()
	}
	_ = p.control.SetWriteDeadline(time.Now().Add(partTimeout)) // writers in tests have no deadlines
	if p.gzip == nil {
		_, p.err = p.w.Write(part)
	} else if _, p.err = p.gzip.Write(part); p.err == nil {
		p.err = p.gzip.Flush()
	}
	if p.err == nil {
		if err := p.control.Flush(); !errors.Is(err, http.ErrNotSupported) {
			p.err = err
		}
	}
	return p.err
}

// beginPage sets the header, and decides whether the page is compressed.
func (p *partWriter) beginPage() {
	p.begun = true
	h := p.w.Header()
	h.Set("X-Accel-Buffering", "no") // for proxies, which would buffer parts
	h.Add("Vary", "Accept-Encoding, Sec-Fetch-Site")
	if p.gzip = p.s.takeCompressor(p.r, p.w); p.gzip != nil {
		h.Set("Content-Encoding", "gzip")
	}
}

// endPage ends the page and releases its compressor.
func (p *partWriter) endPage() {
	if p.gzip == nil {
		return
	}
	if p.err == nil {
		_ = p.gzip.Close() // the browser may have disconnected
	}
	p.s.compressors.release(p.gzip)
}
