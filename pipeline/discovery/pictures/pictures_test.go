package pictures_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/pictures"
	"github.com/quarrysearch/quarry/pipeline/netguard"
	"github.com/quarrysearch/quarry/schemas/code"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pictureBytes are the first bytes of files of each type.
var pictureBytes = map[string]string{
	"image/png": "\x89PNG\r\n\x1a\n and more", "image/jpeg": "\xff\xd8\xff\xe0 and more", "image/gif": "GIF89a and more", "image/webp": "RIFF\x10\x00\x00\x00WEBPVP8 and more",
}

// loopback allows the test servers, as git.allowedNetworks does.
var loopback = netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

var errNoConnection = errors.New("no such connection")

// newLoader returns a Loader with one connection, "host", or without one if c is zero.
func newLoader(t *testing.T, c discovery.Connection, change func(*pictures.Options)) *pictures.Loader {
	t.Helper()
	o := pictures.Options{Dial: loopback.DialContext, Connection: func(name string) (discovery.Connection, error) {
		if name != "host" || c.Name == "" {
			return discovery.Connection{}, errNoConnection
		}
		return c, nil
	}}
	if change != nil {
		change(&o)
	}
	l, err := pictures.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serve runs a server until the test ends.
func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

// TestLoad checks which answers of a host are pictures.
func TestLoad(t *testing.T) {
	elsewhere := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, pictureBytes["image/png"]) })
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if len(r.Cookies()) > 0 || r.Header.Get("Authorization") != "" || r.Header.Get("Private-Token") != "" {
			t.Errorf("%s has a credential: %v", r.URL, r.Header)
		}
		w.Header().Set("Content-Type", "image/svg+xml") // the host's header is ignored
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
		switch name := strings.TrimPrefix(r.URL.Path, "/"); name {
		case "moved":
			http.Redirect(w, r, "/image/png", http.StatusFound)
		case "loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "elsewhere":
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		case "refused":
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, pictureBytes["image/png"])
		case "svg":
			fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`)
		case "html":
			w.Header().Set("Content-Type", "image/png")
			fmt.Fprint(w, "<!doctype html><title>Sign in</title>")
		case "empty":
		case "largest":
			w.Write(append([]byte(pictureBytes["image/png"]), make([]byte, pictures.MaxBytes-len(pictureBytes["image/png"]))...))
		case "large":
			w.Write(append([]byte(pictureBytes["image/png"]), make([]byte, pictures.MaxBytes)...))
		default:
			fmt.Fprint(w, pictureBytes[name])
		}
	})
	l := newLoader(t, discovery.Connection{Name: "host", URL: "https://other.example", Token: "secret"}, nil)
	for path, want := range map[string]string{
		"image/png": "image/png", "image/jpeg": "image/jpeg", "image/gif": "image/gif", "image/webp": "image/webp", "moved": "image/png", "elsewhere": "image/png",
		"largest": "image/png", "loop": "", "refused": "", "svg": "", "html": "", "empty": "", "large": "",
	} {
		body, kind, err := l.Load(t.Context(), &code.Repository{Connection: "host", ImageURL: host.URL + "/" + path})
		switch {
		case want == "" && (!errors.Is(err, code.ErrNotFound) || body != nil || kind != ""):
			t.Errorf("%s: %q %d bytes, %v; want no picture", path, kind, len(body), err)
		case want != "" && (err != nil || kind != want || !bytes.HasPrefix(body, []byte(pictureBytes[want]))):
			t.Errorf("%s: %q %q, %v", path, kind, body[:min(len(body), 20)], err)
		}
	}
	if _, _, err := l.Load(t.Context(), &code.Repository{Connection: "host"}); !errors.Is(err, code.ErrNotFound) {
		t.Errorf("a repository without a picture: %v", err)
	}
}

// TestAddressesAreGuarded checks that addresses that the guard refuses are not dialed,
// for a picture or for a redirect.
func TestAddressesAreGuarded(t *testing.T) {
	var reached atomic.Int32
	inner := serve(t, func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		fmt.Fprint(w, pictureBytes["image/png"])
	})
	outer := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inner.URL, http.StatusFound) })
	_, port, _ := net.SplitHostPort(outer.Listener.Addr().String())
	// The guard refuses all addresses of this machine; the test allows requests to the
	// first server.
	guarded := func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasSuffix(address, ":"+port) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		return netguard.Guard{}.DialContext(ctx, network, address)
	}
	l := newLoader(t, discovery.Connection{}, func(o *pictures.Options) { o.Dial = guarded })
	for _, at := range []string{inner.URL, outer.URL, "http://169.254.169.254/latest/meta-data", "file:///etc/passwd", "ftp://127.0.0.1/a.png"} {
		if _, _, err := l.Load(t.Context(), &code.Repository{ImageURL: at}); !errors.Is(err, code.ErrNotFound) {
			t.Errorf("%s: %v", at, err)
		}
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("%d requests reached a refused address", n)
	}
}

// TestProxyAndAuthorities checks that the proxy and the certificate authorities of a
// connection are used only for pictures on its host.
func TestProxyAndAuthorities(t *testing.T) {
	var proxied []string
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		proxied = append(proxied, r.URL.String())
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "http://inner.example/x", http.StatusFound)
			return
		}
		fmt.Fprint(w, pictureBytes["image/gif"])
	})
	l := newLoader(t, discovery.Connection{Name: "host", URL: "http://git.example", Proxy: proxy.URL}, nil)
	for at, wants := range map[string]bool{"http://git.example/a": true, "http://git.example/moved": false, "http://git.example:81/a": false, "http://127.0.0.1:1/a": false} {
		if _, _, err := l.Load(t.Context(), &code.Repository{Connection: "host", ImageURL: at}); (err == nil) != wants {
			t.Errorf("%s: %v", at, err)
		}
	}
	for _, at := range proxied {
		if u, _ := url.Parse(at); u.Host != "git.example" {
			t.Errorf("the proxy got %s", at)
		}
	}

	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, pictureBytes["image/gif"]) }))
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = nil
	authorities := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))
	for base, wants := range map[string]bool{secure.URL: true, "https://git.example": false} {
		l := newLoader(t, discovery.Connection{Name: "host", URL: base, CA: authorities}, nil)
		if _, _, err := l.Load(t.Context(), &code.Repository{Connection: "host", ImageURL: secure.URL + "/a"}); (err == nil) != wants {
			t.Errorf("a connection of %s: %v", base, err)
		}
	}
}

// TestPicturesAreKept checks how long pictures and failures are cached.
func TestPicturesAreKept(t *testing.T) {
	var requests atomic.Int32
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		fmt.Fprint(w, pictureBytes[strings.TrimPrefix(r.URL.Path, "/")])
	})
	now := time.Unix(1e9, 0)
	l := newLoader(t, discovery.Connection{}, func(o *pictures.Options) { o.Now = func() time.Time { return now } })
	load := func(path string, wants int32) {
		t.Helper()
		before := requests.Load()
		_, _, _ = l.Load(t.Context(), &code.Repository{ImageURL: host.URL + "/" + path})
		if n := requests.Load() - before; n != wants {
			t.Errorf("%s: %d requests, want %d", path, n, wants)
		}
	}
	load("image/png", 1)
	load("none", 1)
	load("image/png", 0)
	load("none", 0)
	now = now.Add(11 * time.Minute)
	load("image/png", 0)
	load("none", 1)
	now = now.Add(6 * time.Hour)
	load("image/png", 1)

	// A canceled request is not cached.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := l.Load(ctx, &code.Repository{ImageURL: host.URL + "/image/gif"}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	load("image/gif", 1)
}
