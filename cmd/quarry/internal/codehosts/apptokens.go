package codehosts

import (
	"fmt"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/github"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
)

// Installations have the tokens with which git fetches what a GitHub App may read, by the
// name of their connection.
type Installations map[string]*github.Installation

// OpenInstallations returns those of the connections of c. It sends no request.
func (h *Hosts) OpenInstallations(c *config.Config) (Installations, error) {
	out := Installations{}
	for i := range c.Connections {
		from := &c.Connections[i]
		if from.App.ID == 0 {
			continue
		}
		opened, err := h.openInstallation(from, c)
		if err != nil {
			return nil, fmt.Errorf("connection %s: %w", from.Name, err)
		}
		out[from.Name] = opened
	}
	return out, nil
}

func (h *Hosts) openInstallation(from *config.Connection, c *config.Config) (*github.Installation, error) {
	connection, err := ReadDiscovered(from)
	if err != nil {
		return nil, err
	}
	client, err := h.NewClient(connection, c.Discovery.RequestTimeout.Std())
	if err != nil {
		return nil, err
	}
	return github.OpenInstallation(connection, client)
}

// NewClient returns a client for the API of a connection's host, whose requests take at
// most timeout each.
func (h *Hosts) NewClient(connection discovery.Connection, timeout time.Duration) (*http.Client, error) {
	o, err := discovery.TransportOptions(&connection)
	if err != nil {
		return nil, err
	}
	o.Dial, o.Timeout = h.policy.Guard().DialContext, timeout
	return hostapi.NewTransport(o).Client(), nil
}
