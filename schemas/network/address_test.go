package network_test

import (
	"testing"

	"github.com/quarrysearch/quarry/schemas/network"
)

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.8.9.10": true, "::1": true, "[::1]": true, "::ffff:127.0.0.1": true,
		"": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "::ffff:10.0.0.1": false, "localhost.example": false,
		"127.0.0.1.example": false, "127.1": false, "2130706433": false, "localhost:7777": false,
	} {
		if have := network.IsLoopback(host); have != want {
			t.Errorf("IsLoopback(%q) is %v, want %v", host, have, want)
		}
	}
}

func TestClientNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7",
		"2001:db8::1": "2001:db8::/64", "2001:db8::ffff:ffff:ffff:ffff": "2001:db8::/64", "2001:db8:0:1::1": "2001:db8:0:1::/64",
		"fe80::1%eth0": "fe80::/64", "": "", "somewhere": "somewhere",
	} {
		if have := network.ClientNetwork(address); have != want {
			t.Errorf("ClientNetwork(%q) is %q, want %q", address, have, want)
		}
	}
}
