package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
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
		if s.isSecure {
			return false
		}
	default:
		return false
	}
	return r.Method == http.MethodGet && acceptsGzip(r)
}

// compressPage returns a whole page, compressed if that is allowed and worthwhile, and
// sets the header accordingly.
func (s *Server) compressPage(h http.Header, r *http.Request, page []byte) ([]byte, error) {
	h.Add("Vary", "Accept-Encoding, Sec-Fetch-Site")
	if len(page) < minCompressed || !s.mayCompress(r) {
		return page, nil
	}
	var packed bytes.Buffer
	z := s.compressors.take(&packed)
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
