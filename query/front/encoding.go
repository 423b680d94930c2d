package front

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
)

// AcceptsGzip reports whether a client accepts gzip. A quality of 0 refuses it; other
// qualities make no difference, because there is only one encoding.
func AcceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return strings.Trim(strings.TrimPrefix(strings.TrimSpace(quality), "q="), "0.") != "" || !strings.Contains(quality, "q=")
		}
	}
	return false
}

// Compress returns a body that many responses share in gzip, as small as it gets.
func Compress(body []byte) []byte {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(body)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(fmt.Sprintf("front: compress a response: %v", err)) // a buffer takes every write
	}
	return packed.Bytes()
}
