package front

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestClientAddresses(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("127.0.0.1/32")}
	for _, c := range []struct {
		name, peer string
		header     http.Header
		want       string
	}{
		{"no proxy", "192.0.2.1:5", http.Header{"X-Forwarded-For": {"198.51.100.7"}}, "192.0.2.1:5"},
		{"a proxy that says nothing", "10.0.0.1:5", nil, "10.0.0.1:5"},
		{"one proxy", "10.0.0.1:5", http.Header{"X-Forwarded-For": {"198.51.100.7"}}, "198.51.100.7:0"},
		{"what the client wrote does not count", "10.0.0.1:5", http.Header{"X-Forwarded-For": {"127.0.0.1, 198.51.100.7"}}, "198.51.100.7:0"},
		{"two proxies, two headers", "10.0.0.1:5", http.Header{"X-Forwarded-For": {"1.1.1.1, 198.51.100.7", "10.9.9.9"}}, "198.51.100.7:0"},
		{"proxies only", "10.0.0.1:5", http.Header{"X-Forwarded-For": {"10.1.1.1, 10.2.2.2"}}, "10.1.1.1:0"},
		{"not an address", "10.0.0.1:5", http.Header{"X-Forwarded-For": {"198.51.100.7, unknown, 10.2.2.2"}}, "10.2.2.2:0"},
		{"with a port", "10.0.0.1:5", http.Header{"X-Forwarded-For": {"198.51.100.7:4711"}}, "198.51.100.7:0"},
		{"IPv6", "[fd00::1]:5", http.Header{"X-Forwarded-For": {"2001:db8::7"}}, "[2001:db8::7]:0"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:5", http.Header{"X-Forwarded-For": {"::ffff:198.51.100.7"}}, "198.51.100.7:0"},
		{"Forwarded", "10.0.0.1:5", http.Header{"Forwarded": {`for=1.1.1.1, For="[2001:db8::7]:4711";proto=https;by=10.0.0.1`}}, "[2001:db8::7]:0"},
		{"Forwarded without for", "10.0.0.1:5", http.Header{"Forwarded": {"for=1.1.1.1, proto=https"}}, "10.0.0.1:0"},
		{"both agree", "10.0.0.1:5", http.Header{"Forwarded": {"for=198.51.100.7"}, "X-Forwarded-For": {"198.51.100.7"}}, "198.51.100.7:0"},
		{"one of both is invented", "10.0.0.1:5", http.Header{"Forwarded": {"for=127.0.0.1"}, "X-Forwarded-For": {"198.51.100.7"}}, "10.0.0.1:5"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header = c.peer, c.header
		var got string
		ClientAddresses(proxies, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(httptest.NewRecorder(), r)
		if got != c.want || r.RemoteAddr != c.peer {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func FuzzForwarded(f *testing.F) {
	f.Add("for=1.2.3.4;by=x, for=\"[::1]:80\"", "1.2.3.4, 5.6.7.8")
	next := ClientAddresses([]netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := netip.ParseAddrPort(r.RemoteAddr); err != nil {
			panic(r.RemoteAddr)
		}
	}))
	f.Fuzz(func(t *testing.T, forwarded, by string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header = http.Header{"Forwarded": {forwarded}, "X-Forwarded-For": {by}}
		next.ServeHTTP(httptest.NewRecorder(), r)
	})
}
