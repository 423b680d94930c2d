package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/query/client"
)

// serverFlag holds the address of the server and the API key.
type serverFlag struct {
	Server string `group:"connection" placeholder:"URL" help:"URL of the server. The default is ${default}." default:"http://127.0.0.1:7070" env:"QUARRY_SERVER"`
	APIKey string `group:"connection" name:"api-key" placeholder:"KEY" env:"QUARRY_API_KEY" help:"API key. On the machine of the server, its data directory serves instead."`
}

// askFlags holds the flags of a command that sends requests to a server and uses the data
// directory only to find the operator's token.
type askFlags struct {
	serverFlag
	Data string `group:"connection" placeholder:"DIR" complete:"path" help:"Data directory of a server on this machine: the command acts as its operator. The default is quarry-data ($QUARRY_DATA)."`
}

// newClient returns a client of the server with the caller's credential.
func (f *askFlags) newClient() (*client.Client, error) { return f.serverFlag.newClient(f.Data) }

// newClient returns a client of the server. It signs in with the API key, if there is
// one, and otherwise as the operator of the data directory. An empty data means
// QUARRY_DATA or the default of serve.
func (f *serverFlag) newClient(data string) (*client.Client, error) {
	return newClient(f.Server, f.APIKey, data)
}

func newClient(base, key, data string) (*client.Client, error) {
	if strings.ContainsAny(key, " \t\r\n") {
		return nil, usageErrorf("the API key contains blanks; check --api-key and QUARRY_API_KEY")
	}
	data = cmp.Or(data, os.Getenv("QUARRY_DATA"), config.Default().Data)
	o := client.Options{APIKey: key, UserAgent: "quarry", Retries: client.NoRetries}
	if key == "" {
		o.Transport = &operator.Transport{Dir: data}
	}
	c, err := client.New(base, o)
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// addAdvice adds a remedy to an error.
func addAdvice(err error) error {
	if errors.Is(err, client.ErrNoAnswer) {
		return fmt.Errorf("%w; start one with quarry serve, or name it with --server", err)
	}
	if e, ok := errors.AsType[*client.Error](err); ok && e.StatusCode == http.StatusUnauthorized {
		return fmt.Errorf("%w; give an API key with --api-key or QUARRY_API_KEY or, on the server's machine, its data directory with --data or QUARRY_DATA", err)
	}
	return err
}
