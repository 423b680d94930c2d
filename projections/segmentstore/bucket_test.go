package segmentstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/segmentstore/s3test"
	"github.com/quarrysearch/quarry/projections/segmentstore/segmentstoretest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

func bucketOptions(t *testing.T, endpoint, prefix string) segmentstore.BucketOptions {
	return segmentstore.BucketOptions{
		Endpoint: endpoint, Region: s3test.Region, Bucket: s3test.Bucket, Prefix: prefix, PathStyle: true,
		AccessKeyID: s3test.AccessKey, SecretAccessKey: s3test.SecretKey, TempDir: t.TempDir(),
		Metrics: segmentstore.NewBucketMetrics(prometheus.NewRegistry()), Logger: slog.New(slog.DiscardHandler),
	}
}

func openBucket(t *testing.T, o segmentstore.BucketOptions) *segmentstore.Bucket {
	t.Helper()
	b, err := segmentstore.OpenBucket(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBucketConforms(t *testing.T) {
	server := s3test.Start(t)
	n := 0
	segmentstoretest.Run(t, func(t *testing.T) segmentstore.Driver {
		n++
		return openBucket(t, bucketOptions(t, server.Endpoint, fmt.Sprintf("stores/%d", n)))
	})
}

// TestBucketPassesFaults injects what a network and a busy server do. Every operation
// succeeds all the same, and nothing damaged arrives.
func TestBucketPassesFaults(t *testing.T) {
	proxy := s3test.NewProxy(t, s3test.Start(t))
	b := openBucket(t, bucketOptions(t, proxy.Endpoint, "faults"))
	ctx := t.Context()
	content := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
	for i, f := range []struct {
		name   string
		inject func()
	}{
		{"slow down", func() { proxy.Inject(s3test.Refuse(2, http.StatusServiceUnavailable, "SlowDown")) }},
		{"internal error", func() { proxy.Inject(s3test.Refuse(1, http.StatusInternalServerError, "InternalError")) }},
		{"reset", func() { proxy.Inject(s3test.Reset(2)) }},
	} {
		t.Run(f.name, func(t *testing.T) {
			defer proxy.Inject(nil)
			name := fmt.Sprintf("object-%d", i)
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			f.inject()
			if err := b.Put(ctx, name, path); err != nil {
				t.Fatalf("put: %v", err)
			}
			f.inject()
			if got, err := b.GetBytes(ctx, name, 1<<30); err != nil || !bytes.Equal(got, content) {
				t.Fatalf("got %d bytes of %d: %v", len(got), len(content), err)
			}
			f.inject()
			if err := b.Fetch(ctx, name, path); err != nil {
				t.Fatalf("fetch: %v", err)
			}
			f.inject()
			if empty, err := b.IsEmpty(ctx); empty || err != nil {
				t.Fatalf("empty: %v, %v", empty, err)
			}
			f.inject()
			if err := b.Delete(ctx, name); err != nil {
				t.Fatalf("delete: %v", err)
			}
		})
	}
}

// TestBucketRefusesDamagedBodies changes what arrives: once, which is read again, and each
// time, which is an error that leaves no file.
func TestBucketRefusesDamagedBodies(t *testing.T) {
	proxy := s3test.NewProxy(t, s3test.Start(t))
	b := openBucket(t, bucketOptions(t, proxy.Endpoint, ""))
	ctx := t.Context()
	content := bytes.Repeat([]byte("0123456789abcdef"), 1000)
	if err := b.PutBytes(ctx, "object", content); err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func([]byte) []byte{
		"truncated":   func(b []byte) []byte { return b[:len(b)/2] },
		"flipped bit": func(b []byte) []byte { b[len(b)/3] ^= 4; return b },
	} {
		t.Run(name, func(t *testing.T) {
			defer proxy.ChangeBodies(nil)
			once := true
			proxy.ChangeBodies(func(b []byte) []byte {
				if !once {
					return b
				}
				once = false
				return damage(b)
			})
			path := filepath.Join(t.TempDir(), "file")
			if err := b.Fetch(ctx, "object", path); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
				t.Fatalf("fetched %d bytes of %d, %v", len(got), len(content), err)
			}
			proxy.ChangeBodies(damage)
			if err := b.Fetch(ctx, "object", path+"2"); err == nil || errors.Is(err, code.ErrNotFound) {
				t.Fatalf("fetch: %v", err)
			}
			if _, err := os.Stat(path + "2"); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("a damaged file is left: %v", err)
			}
			if _, err := b.GetBytes(ctx, "object", 1<<20); err == nil {
				t.Fatal("a damaged object was returned")
			}
		})
	}
}

// TestBucketErrorsSayWhatToDo opens buckets that cannot be used.
func TestBucketErrorsSayWhatToDo(t *testing.T) {
	server := s3test.Start(t)
	for name, c := range map[string]struct {
		change func(*segmentstore.BucketOptions)
		want   string
	}{
		"missing bucket": {func(o *segmentstore.BucketOptions) { o.Bucket = "missing" }, "create the bucket, or correct storage.segments"},
		"wrong secret":   {func(o *segmentstore.BucketOptions) { o.SecretAccessKey = "wrong" }, "check the credentials"},
		"wrong key":      {func(o *segmentstore.BucketOptions) { o.AccessKeyID = "wrong" }, "access key"},
		"wrong region":   {func(o *segmentstore.BucketOptions) { o.Region = "us-west-7" }, "set storage.s3.region"},
		"no server":      {func(o *segmentstore.BucketOptions) { o.Endpoint = "http://127.0.0.1:9" }, "check storage.s3.endpoint and the network"},
		"a path":         {func(o *segmentstore.BucketOptions) { o.Endpoint += "/path" }, "without a path"},
		"no CA":          {func(o *segmentstore.BucketOptions) { o.CAFile = "bucket_test.go" }, "contains no certificate"},
		"skewed clock": {func(o *segmentstore.BucketOptions) {
			proxy := s3test.NewProxy(t, server)
			proxy.Inject(s3test.Refuse(-1, http.StatusForbidden, "RequestTimeTooSkewed"))
			o.Endpoint = proxy.Endpoint
		}, "set the clock"},
		"closed connections": {func(o *segmentstore.BucketOptions) {
			proxy := s3test.NewProxy(t, server)
			proxy.Inject(s3test.Reset(-1))
			o.Endpoint = proxy.Endpoint
		}, "check storage.s3.endpoint and the network"},
		"busy": {func(o *segmentstore.BucketOptions) {
			proxy := s3test.NewProxy(t, server)
			proxy.Inject(s3test.Refuse(-1, http.StatusServiceUnavailable, "SlowDown"))
			o.Endpoint = proxy.Endpoint
		}, "the server is overloaded or fails: check its state"},
	} {
		t.Run(name, func(t *testing.T) {
			o := bucketOptions(t, server.Endpoint, "")
			c.change(&o)
			_, err := segmentstore.OpenBucket(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("opened: %v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), s3test.SecretKey) {
				t.Errorf("the error contains the secret: %v", err)
			}
		})
	}
}

// TestBucketOutageIsNoLoss stops the server: no object is reported as missing, and
// everything works once it is back.
func TestBucketOutageIsNoLoss(t *testing.T) {
	server := s3test.Start(t)
	b := openBucket(t, bucketOptions(t, server.Endpoint, ""))
	ctx := t.Context()
	if err := b.PutBytes(ctx, "object", []byte("content")); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	if _, err := b.GetBytes(ctx, "object", 100); err == nil || errors.Is(err, code.ErrNotFound) {
		t.Fatalf("get without a server: %v", err)
	}
	if err := b.PutBytes(ctx, "object-2", nil); err == nil {
		t.Fatal("put without a server")
	}
	for _, err := range b.List(ctx) {
		if err == nil {
			t.Fatal("listed without a server")
		}
	}
	server.Restart()
	if got, err := b.GetBytes(ctx, "object", 100); err != nil || string(got) != "content" {
		t.Fatalf("got %q, %v", got, err)
	}
}

// TestBucketKeepsItsIdentity lets two processes identify one store, and replaces the store.
func TestBucketKeepsItsIdentity(t *testing.T) {
	server := s3test.Start(t)
	first, second := openBucket(t, bucketOptions(t, server.Endpoint, "shared")), openBucket(t, bucketOptions(t, server.Endpoint, "shared"))
	ctx := t.Context()
	if _, err := first.Identity(ctx); !errors.Is(err, code.ErrNotFound) {
		t.Fatalf("identity of a new store: %v", err)
	}
	one, two := strings.Repeat("1", event.StoreIdentityBytes), strings.Repeat("2", event.StoreIdentityBytes)
	if err := errors.Join(first.WriteIdentity(ctx, one), second.WriteIdentity(ctx, two)); err != nil {
		t.Fatal(err)
	}
	if id, err := second.Identity(ctx); id != one || err != nil {
		t.Fatalf("identity %q, %v, want that of the first", id, err)
	}
	if empty, err := first.IsEmpty(ctx); !empty || err != nil {
		t.Fatalf("empty: %v, %v", empty, err)
	}
	second.RequireIdentity(two)
	if _, err := second.GetBytes(ctx, "object", 1); !errors.Is(err, segmentstore.ErrOtherStore) {
		t.Fatalf("get in another store: %v", err)
	}
	if err := second.PutBytes(ctx, "object", nil); !errors.Is(err, segmentstore.ErrOtherStore) {
		t.Fatalf("put to another store: %v", err)
	}
	for _, err := range second.List(ctx) {
		if err != nil && !errors.Is(err, segmentstore.ErrOtherStore) {
			t.Fatal(err)
		}
	}
}

// TestBucketNeedsConditionalWrites answers the second conditional write as a server that
// ignores the condition.
func TestBucketNeedsConditionalWrites(t *testing.T) {
	server := s3test.Start(t)
	o := bucketOptions(t, server.Endpoint, "")
	writes := 0
	o.Wrap = func(rt http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("If-None-Match") == "" {
				return rt.RoundTrip(r)
			}
			if writes++; writes == 1 {
				return rt.RoundTrip(r)
			}
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Etag": {`"1"`}}, Body: http.NoBody, Request: r}, nil
		})
	}
	b := openBucket(t, o)
	if err := b.WriteIdentity(t.Context(), strings.Repeat("1", event.StoreIdentityBytes)); err == nil || !strings.Contains(err.Error(), "If-None-Match") {
		t.Fatalf("identified: %v", err)
	}
	if _, err := b.Identity(t.Context()); !errors.Is(err, code.ErrNotFound) {
		t.Fatalf("the refused identity is left: %v", err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestBucketUploadsParts stores an object that is larger than a part, and reads it back.
func TestBucketUploadsParts(t *testing.T) {
	if testing.Short() {
		t.Skip("uploads 150 MB, not with -short")
	}
	server := s3test.Start(t)
	b := openBucket(t, bucketOptions(t, server.Endpoint, ""))
	content := make([]byte, 150<<20)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(content) // never fails
	path := filepath.Join(t.TempDir(), "file")
	for range 2 { // the second finds the object
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := b.Put(t.Context(), "object", path); err != nil {
			t.Fatal(err)
		}
		if err := b.Fetch(t.Context(), "object", path); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("got %d bytes of %d: %v", len(got), len(content), err)
		}
	}
}

// TestBucketListsManyPages lists more objects than a page has, in order.
func TestBucketListsManyPages(t *testing.T) {
	server := s3test.Start(t)
	const n = 1100
	for _, name := range []string{"", "stores", "stores/1"} {
		if err := os.MkdirAll(filepath.Join(server.Dir, s3test.Bucket, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(server.Dir, s3test.Bucket, "stores/1", fmt.Sprintf("object-%04d", i)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := openBucket(t, bucketOptions(t, server.Endpoint, "stores/1"))
	i := 0
	for info, err := range b.List(t.Context()) {
		if want := fmt.Sprintf("object-%04d", i); err != nil || info.Name != want || info.SizeBytes != 1 || info.ModTime.IsZero() {
			t.Fatalf("listed %+v, %v, want %s", info, err, want)
		}
		i++
	}
	if i != n {
		t.Fatalf("listed %d objects of %d", i, n)
	}
	// Objects that other programs have stored have no checksum.
	if got, err := b.GetBytes(context.Background(), "object-0001", 9); err != nil || string(got) != "x" {
		t.Fatalf("got %q, %v", got, err)
	}
}
