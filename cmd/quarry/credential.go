package main

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/client"
)

// serverFlag names the server that a command asks, and the key to ask it with.
type serverFlag struct {
	Server string `help:"URL of the server." default:"http://127.0.0.1:7070" env:"QUARRY_SERVER"`
	APIKey string `name:"api-key" placeholder:"KEY" env:"QUARRY_API_KEY" help:"API key. Without one, a server on this machine is asked as its operator, by the token in its data directory."`
}

// askFlags are those of a command that asks a server and has no other use for a
// data directory.
type askFlags struct {
	serverFlag
	Data string `placeholder:"DIR" help:"Data directory of the server on this machine, for the operator's token; QUARRY_DATA, or quarry-data, unless said."`
}

// client returns a client of the server that shows who asks.
func (f *askFlags) client() (*client.Client, error) { return f.serverFlag.client(f.Data) }

// client returns a client of the server: with the key, or as the operator of data,
// which is where serve has it unless said.
func (f *serverFlag) client(data string) (*client.Client, error) {
	return newClient(f.Server, f.APIKey, data)
}

func newClient(base, key, data string) (*client.Client, error) {
	if strings.ContainsAny(key, " \t\r\n") {
		return nil, errors.New("the API key has blanks in it; look at --api-key and QUARRY_API_KEY")
	}
	data = cmp.Or(data, os.Getenv("QUARRY_DATA"), config.Default().Data)
	to, err := client.New(base)
	if err != nil {
		return nil, err
	}
	if u, err := url.Parse(base); key != "" && err == nil {
		to.Use(&bearer{key, u.Host})
	} else {
		to.Use(&operator.Transport{Dir: data})
	}
	return to, nil
}

// bearer is a key that goes along with every request to a host: not to one that it
// redirects to.
type bearer struct{ key, host string }

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == b.host {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.key)
	}
	return http.DefaultTransport.RoundTrip(r)
}
