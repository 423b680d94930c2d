package config

import (
	"slices"
	"strings"
	"testing"
)

func TestAccess(t *testing.T) {
	for _, c := range []struct{ set, wrong string }{
		{"access.trustedProxies=10.0.0.0/8,192.0.2.1,fd00::/8", ""},
		{"access.trustedProxies=proxy.example", "access.trustedProxies"},
		{"access.anonymous=maybe", "access.anonymous"},
		{"access.defaultVisibility=secret", "access.defaultVisibility"},
		{"access.secret=0123456789abcdef0123456789abcdef", ""},
		{"access.secret=short", "access.secret"},
		{"access.secret=env:QUARRY_NO_SUCH_VARIABLE", "access.secret"},
		{"access.sessionTtl=1s", "access.sessionTtl"},
		{"access.invitationTtl=2161h", "access.invitationTtl"},
		{"access.allowedOrigins=https://a.example,http://b.example:8080,*", ""},
		{"access.allowedOrigins=https://a.example/", "access.allowedOrigins"},
		{"access.allowedOrigins=a.example", "access.allowedOrigins"},
		{"access.allowedOrigins=null", "access.allowedOrigins"},
		{"limits.burst=0", "limits.burst"},
		{"limits.perSecond=-1", "limits.perSecond"},
		{"limits.perSecond=0", ""},
	} {
		_, _, err := Loader{Set: []string{c.set}}.Load()
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v", c.set, err)
		}
	}
}

func TestHosts(t *testing.T) {
	for _, c := range []struct {
		listen, public string
		hosts, want    []string
	}{
		{"127.0.0.1:7070", "", nil, []string{"127.0.0.1", "localhost"}},
		{"0.0.0.0:7070", "", []string{"code"}, nil},
		{"0.0.0.0:7070", "https://code.example/q", nil, []string{"0.0.0.0", "code.example", "localhost"}},
		{"[::1]:7070", "", []string{"*"}, nil},
		{"localhost:7070", "", []string{"q.example"}, []string{"localhost", "localhost", "q.example"}},
	} {
		cfg := Default()
		cfg.Listen, cfg.PublicURL, cfg.Access.Hosts = c.listen, c.public, c.hosts
		got := cfg.Hosts()
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}

func TestAnonymousAllowed(t *testing.T) {
	for _, c := range []struct {
		anonymous, listen, public string
		want                      bool
	}{
		{"auto", "127.0.0.1:7070", "", true}, {"auto", "[::1]:7070", "", true}, {"auto", "localhost:7070", "", true},
		{"auto", ":7070", "", false}, {"auto", "0.0.0.0:7070", "", false}, {"auto", "quarry.example:7070", "", false},
		{"auto", "127.0.0.1:7070", "http://localhost:8080", true}, {"auto", "127.0.0.1:7070", "http://[::1]:8080", true},
		{"auto", "127.0.0.1:7070", "https://code.example.com", false}, {"auto", "0.0.0.0:7070", "http://localhost:7070", false},
		{"on", "127.0.0.1:7070", "https://code.example.com", true},
		{"on", "0.0.0.0:7070", "", true}, {"off", "127.0.0.1:7070", "", false},
	} {
		cfg := Default()
		cfg.Access.Anonymous, cfg.Listen, cfg.PublicURL = c.anonymous, c.listen, c.public
		if got := cfg.AnonymousAllowed(); got != c.want {
			t.Errorf("%s on %s, %s: %t, want %t", c.anonymous, c.listen, c.public, got, c.want)
		}
	}
}
