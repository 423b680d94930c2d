package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
)

// Compressed pages. A page has both what a link of another site may put into it, the query, and
// what that site may not know: the token of forms, and code. Whoever sees the lengths of
// encrypted answers and makes a browser ask for many of them could guess the second by the
// first (BREACH), if they were compressed together. So an answer is compressed only if the
// browser says that the request is from a page of this server or from the reader
// (Sec-Fetch-Site), and only if it answers a GET: what shows a new key or invitation answers a
// POST. And the token is masked for each address (maskToken), so that it never stands in two
// answers to different queries.

const (
	// maxCompressors bounds the pages that are compressed at a time, each with some
	// 800 kB of memory; further ones are sent as they are.
	maxCompressors = 32
	// minCompressed is the size below which a page is not worth it.
	minCompressed = 1400
)

// compressors are the writers that are free, nil for one that is not made yet.
type compressors chan *gzip.Writer

func newCompressors() compressors {
	c := make(compressors, maxCompressors)
	for range maxCompressors {
		c <- nil
	}
	return c
}

// take returns a free writer to w, or nil. Give it back by release.
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

// mayCompress reports whether the answer to a request may be compressed. Old browsers and
// programs do not say where a request is from: over http, where nothing is encrypted,
// that makes no difference.
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

// compressPage returns a whole page, compressed if that may be and is worth it, and says so in
// the header.
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
