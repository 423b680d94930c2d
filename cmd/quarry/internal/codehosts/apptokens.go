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

// Installations hold the tokens with which git fetches through GitHub Apps, by connection
// name.
type Installations map[string]*github.Installation

// OpenInstallations returns the installations of the connections of c. It sends no
// request.
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

// NewClient returns a client for the API of a connection's host. Each request takes at
// most timeout.
func (h *Hosts) NewClient(connection discovery.Connection, timeout time.Duration) (*http.Client, error) {
	o, err := discovery.TransportOptions(&connection)
	if err != nil {
		return nil, err
	}
	o.Dial, o.Timeout = h.policy.Guard().DialContext, timeout
	return hostapi.NewTransport(o).Client(), nil
}
