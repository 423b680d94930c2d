package netguard_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/netguard"
)

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, t := range texts {
		out = append(out, netip.MustParsePrefix(t))
	}
	return out
}

func TestLookup(t *testing.T) {
	names := map[string][]string{
		"public.example": {"93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"},
		"mixed.example":  {"93.184.216.34", "127.0.0.1"},
		"corp.example":   {"10.1.2.3"},
		"local.example":  {"127.0.0.1"},
		"none.example":   nil,
	}
	resolve := func(_ context.Context, host string) (addrs []netip.Addr, _ error) {
		for _, a := range names[host] {
			addrs = append(addrs, netip.MustParseAddr(a))
		}
		return addrs, nil
	}
	everything := netguard.Guard{Allow: prefixes("0.0.0.0/0", "::/0"), Deny: netguard.MetadataNetworks}
	trusting := netguard.Guard{Deny: netguard.MetadataNetworks, Trust: func(host, port string) bool { return host != "other.example" && port == "443" }}
	inner := netguard.Guard{Allow: prefixes("10.0.0.0/8")}
	for _, c := range []struct {
		guard      netguard.Guard
		host, port string
		want       error
		says       string
	}{
		{netguard.Guard{}, "public.example", "443", nil, ""},
		{netguard.Guard{}, "mixed.example", "443", netguard.ErrRefused, "127.0.0.1"},
		{netguard.Guard{}, "none.example", "443", netguard.ErrUnreachable, "no address"},
		{netguard.Guard{}, "corp.example", "443", netguard.ErrRefused, "git.allowedNetworks"},
		{inner, "corp.example", "443", nil, ""},
		{inner, "local.example", "443", netguard.ErrRefused, "127.0.0.1"},
		{netguard.Guard{Allow: prefixes("10.0.0.0/8"), Deny: prefixes("10.1.2.0/24")}, "corp.example", "443", netguard.ErrRefused, "git.deniedNetworks"},
		{netguard.Guard{Deny: prefixes("93.184.0.0/16")}, "public.example", "443", netguard.ErrRefused, "git.deniedNetworks"},
		// Hosts that the operator configured may be private, but nothing else.
		{trusting, "corp.example", "443", nil, ""},
		{trusting, "CORP.example", "443", netguard.ErrUnreachable, ""}, // the name is resolved as it is written
		{trusting, "corp.example", "6379", netguard.ErrRefused, "10.1.2.3"},
		{trusting, "local.example", "443", netguard.ErrRefused, "127.0.0.1"},
		{trusting, "169.254.1.1", "443", netguard.ErrRefused, "refused: 169.254.1.1, an address outside"},
		{trusting, "fd00:ec2::254", "443", netguard.ErrRefused, "deniedNetworks"},
		{trusting, "fd00::1", "443", nil, ""},
		{trusting, "100.64.1.1", "443", nil, ""},
		{trusting, "100.100.100.200", "443", netguard.ErrRefused, "deniedNetworks"},
		// Even if everything is allowed, the metadata addresses of clouds are not.
		{everything, "127.0.0.1", "80", nil, ""},
		{everything, "169.254.169.254", "80", netguard.ErrRefused, "deniedNetworks"},
		{everything, "::ffff:169.254.169.254", "80", netguard.ErrRefused, "deniedNetworks"},
		{everything, "::ffff:a9fe:a9fe", "80", netguard.ErrRefused, "deniedNetworks"},
		{everything, "64:ff9b::169.254.169.254", "80", netguard.ErrRefused, "deniedNetworks"},
		{everything, "2002:a9fe:a9fe::1", "80", netguard.ErrRefused, "deniedNetworks"},
		{everything, "::169.254.169.254", "80", netguard.ErrRefused, "deniedNetworks"},
		{everything, "fe80::1%eth0", "80", nil, ""},
		{everything, "168.63.129.16", "80", netguard.ErrRefused, "deniedNetworks"},
	} {
		c.guard.Resolve = resolve
		_, err := c.guard.Lookup(t.Context(), c.host, c.port)
		if !errors.Is(err, c.want) || c.want == nil && err != nil || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s:%s: %v, want %v that says %q", c.host, c.port, err, c.want, c.says)
		}
	}
}

// TestRebinding checks that no client connects to a server through a rebound name: the
// resolver's second answer is checked like the first, and the checked address is dialed.
func TestRebinding(t *testing.T) {
	var heard atomic.Int32
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
	defer inner.Close()
	_, port, _ := net.SplitHostPort(inner.Listener.Addr().String())
	var lookups atomic.Int32
	g := netguard.Guard{Allow: prefixes("127.0.0.2/32"), Resolve: func(context.Context, string) ([]netip.Addr, error) {
		if lookups.Add(1) == 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.2")}, nil // allowed; nothing listens there
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}}
	client := &http.Client{Transport: &http.Transport{DialContext: g.DialContext}}
	for i, want := range []error{netguard.ErrUnreachable, netguard.ErrRefused, netguard.ErrRefused} {
		_, err := client.Get("http://rebound.example:" + port + "/")
		if !errors.Is(err, want) {
			t.Errorf("request %d: %v, want %v", i+1, err, want)
		}
	}
	if n := heard.Load(); n != 0 {
		t.Errorf("the inner server heard %d requests", n)
	}
	if n := lookups.Load(); n != 3 {
		t.Errorf("%d lookups for 3 requests: a name was resolved again after the check", n)
	}
}

// TestRedirects checks that a redirect to a refused address fails, whether the URL
// contains a name or an address.
func TestRedirects(t *testing.T) {
	var heard atomic.Int32
	inner := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
	listener, err := net.Listen("tcp", "127.0.0.3:0")
	if err != nil && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skipf("no second loopback address: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	inner.Listener.Close()
	inner.Listener = listener
	inner.Start()
	defer inner.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())

	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+r.URL.Query().Get("to")+":"+port+"/", http.StatusFound)
	}))
	defer outer.Close()
	g := netguard.Guard{Allow: prefixes("127.0.0.1/32"), Resolve: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.3")}, nil
	}}
	client := &http.Client{Transport: &http.Transport{DialContext: g.DialContext}}
	for _, to := range []string{"127.0.0.3", "inner.example", "[::ffff:127.0.0.3]"} {
		_, err := client.Get(outer.URL + "/?to=" + url.QueryEscape(to))
		if !errors.Is(err, netguard.ErrRefused) {
			t.Errorf("redirect to %s: %v, want a refusal", to, err)
		}
	}
	if n := heard.Load(); n != 0 {
		t.Errorf("the inner server heard %d requests", n)
	}
}
