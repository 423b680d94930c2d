package hostapi

import (
	"bytes"
	"compress/flate"
	"container/list"
	"io"
	"net/http"
	"sync"
)

// DefaultCacheBytes bounds a Cache. A page of 100 repositories of GitHub has 600 KB, 25
// KB of it compressed: 20,000 repositories are 5 MB.
const DefaultCacheBytes = 32 << 20

// Cache keeps answers that have an ETag, so that a host can say that they still hold.
// The oldest go first.
type Cache struct {
	maxBytes int

	mu struct {
		sync.Mutex
		entries map[string]*list.Element
		order   *list.List // of *cached, the last used first
		bytes   int
	}
}

// cached is an answer.
type cached struct {
	url, etag string
	header    http.Header
	body      []byte // compressed
	size      int    // of the text
}

// NewCache returns a Cache of at most maxBytes; 0 means DefaultCacheBytes.
func NewCache(maxBytes int) *Cache {
	if maxBytes == 0 {
		maxBytes = DefaultCacheBytes
	}
	c := &Cache{maxBytes: maxBytes}
	c.mu.entries, c.mu.order = map[string]*list.Element{}, list.New()
	return c
}

// find returns the answer to a URL, nil if it has none.
func (c *Cache) find(url string) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.mu.entries[url]
	if element == nil {
		return nil
	}
	c.mu.order.MoveToFront(element)
	return element.Value.(*cached)
}

// entryBytes is what an entry takes in addition to its body.
const entryBytes = 2 << 10

// store keeps an answer. One that does not compress below the bound is left out.
func (c *Cache) store(url, etag string, header http.Header, body []byte) {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return
	}
	if _, err := w.Write(body); err != nil || w.Close() != nil || out.Len()+entryBytes > c.maxBytes {
		return
	}
	entry := &cached{url: url, etag: etag, header: header.Clone(), body: bytes.Clone(out.Bytes()), size: len(body)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.mu.entries[url]; old != nil {
		c.removeLocked(old)
	}
	c.mu.entries[url] = c.mu.order.PushFront(entry)
	c.mu.bytes += len(entry.body) + entryBytes
	for c.mu.bytes > c.maxBytes {
		c.removeLocked(c.mu.order.Back())
	}
}

func (c *Cache) removeLocked(element *list.Element) {
	entry := element.Value.(*cached)
	c.mu.order.Remove(element)
	delete(c.mu.entries, entry.url)
	c.mu.bytes -= len(entry.body) + entryBytes
}

// decompress returns the body as the host sent it.
func (e *cached) decompress() ([]byte, error) {
	out := bytes.NewBuffer(make([]byte, 0, e.size))
	_, err := io.Copy(out, flate.NewReader(bytes.NewReader(e.body)))
	return out.Bytes(), err
}
