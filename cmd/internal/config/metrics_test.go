package config

import (
	"slices"
	"strings"
	"testing"
)

func TestMetricsAddress(t *testing.T) {
	for _, c := range []struct {
		setting, listen string
		port            int
		want            string
		derived         bool
		loopback        bool
	}{
		{"auto", "127.0.0.1:7070", 7070, "127.0.0.1:7071", true, true},
		{"auto", "0.0.0.0:7070", 7070, "127.0.0.1:7071", true, true},
		{"auto", ":7070", 7070, "127.0.0.1:7071", true, true},
		{"auto", "[::1]:7070", 7070, "[::1]:7071", true, true},
		{"auto", "localhost:http", 80, "localhost:81", true, true},
		{"auto", "127.0.0.1:0", 40000, "127.0.0.1:0", true, true},
		{"auto", "quarry.example:65535", 65535, "127.0.0.1:0", true, true},
		{"0.0.0.0:9000", "127.0.0.1:7070", 7070, "0.0.0.0:9000", false, false},
		{"localhost:9000", "0.0.0.0:7070", 7070, "localhost:9000", false, true},
		{"main", "127.0.0.1:7070", 7070, "", false, true},
		{"main", "0.0.0.0:7070", 7070, "", false, false},
		{"none", "0.0.0.0:7070", 7070, "", false, true},
	} {
		cfg, _, err := Loader{Set: []string{"metricsListen=" + c.setting, "listen=" + c.listen}}.Load()
		if err != nil {
			t.Fatal(err)
		}
		address, derived := cfg.MetricsAddress(c.port)
		if address != c.want || derived != c.derived || cfg.MetricsLoopback() != c.loopback {
			t.Errorf("%+v: %q, derived %t, loopback %t", c, address, derived, cfg.MetricsLoopback())
		}
	}
	for _, set := range []string{"metricsListen=", "metricsListen=here", "metricsListen=off"} {
		if _, _, err := (Loader{Set: []string{set}}).Load(); err == nil || !strings.Contains(err.Error(), "auto, main or none") {
			t.Errorf("%s: %v, want an error that names auto, main and none", set, err)
		}
	}
	if _, _, err := (Loader{Set: []string{"metricsToken=short"}}).Load(); err == nil || !strings.Contains(err.Error(), "metricsToken: 5 bytes: want at least 16") || strings.Contains(err.Error(), "short") {
		t.Errorf("a short token: %v", err)
	}
}

func TestMetricsHosts(t *testing.T) {
	for _, c := range []struct {
		setting, listen, public string
		hosts, want             []string
	}{
		{"auto", "0.0.0.0:7070", "", nil, []string{"localhost"}},
		{"auto", "127.0.0.1:7070", "https://code.example", []string{"prometheus.example"}, []string{"code.example", "localhost", "prometheus.example"}},
		{"quarry.internal:7071", "0.0.0.0:7070", "", nil, []string{"localhost", "quarry.internal"}},
		{"auto", "127.0.0.1:7070", "", []string{"*"}, nil},
		{"main", "0.0.0.0:7070", "", []string{"code"}, nil},
		{"main", "127.0.0.1:7070", "", nil, []string{"127.0.0.1", "localhost"}},
	} {
		cfg := Default()
		cfg.MetricsListen, cfg.Listen, cfg.PublicURL, cfg.Access.Hosts = c.setting, c.listen, c.public, c.hosts
		got := cfg.MetricsHosts()
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}
