package hostapi

import (
	"bytes"
	"compress/flate"
	"container/list"
	"io"
	"net/http"
	"sync"
)

// DefaultCacheBytes is the default size of a Cache. A page of 100 GitHub repositories has
// 600 kB, or 25 kB compressed, so 20,000 repositories take 5 MB.
const DefaultCacheBytes = 32 << 20

// Cache keeps responses with an ETag, so that a host can confirm that they are still
// current. It evicts the least recently used ones.
type Cache struct {
	maxBytes int

	mu struct {
		sync.Mutex
		entries map[string]*list.Element
		order   *list.List // of *cached, most recently used first
		bytes   int
	}
}

// cached is a response.
type cached struct {
	url, etag string
	header    http.Header
	body      []byte // compressed
	size      int    // uncompressed
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

// find returns the cached response for a URL, or nil.
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

// entryBytes is the memory of an entry in addition to its body.
const entryBytes = 2 << 10

// store caches a response, unless its compressed size exceeds the bound.
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
