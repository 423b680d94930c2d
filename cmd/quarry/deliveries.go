package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type deliveriesCommand struct {
	List      listDeliveriesCommand `cmd:"" default:"withargs" help:"List deliveries with their outcomes, newest first."`
	Show      showDeliveryCommand   `cmd:"" help:"Show all details of a delivery."`
	Redeliver redeliverCommand      `cmd:"" help:"Process the refs of a delivery again."`
}

// Help implements kong.HelpProvider.
func (*deliveriesCommand) Help() string { return "Without a command, lists the deliveries." }

type listDeliveriesCommand struct {
	askFlags
	Connection string        `placeholder:"NAME" help:"List only deliveries of this connection."`
	Repository string        `placeholder:"NAME" complete:"repository" help:"List only deliveries for the repository with this full name or ID."`
	Outcome    string        `placeholder:"OUTCOME" complete:"waiting,indexed,coalesced,deleted,failed,unchanged,unselected,unregistered,refreshed,absent,replayed,dropped,duplicate,taken,ignored,refused" help:"List only deliveries with this outcome: waiting, indexed, coalesced, deleted, failed, unchanged, unselected, unregistered, refreshed, absent, replayed, dropped, duplicate, taken, ignored or refused."`
	Since      time.Duration `placeholder:"AGE" help:"List only deliveries received within this time, such as 2h."`
	Limit      int           `short:"n" placeholder:"N" default:"30" help:"List at most N deliveries. The default is ${default}."`
	Follow     bool          `short:"f" help:"Keep printing new deliveries and new outcomes."`
	JSON       bool          `help:"Print one JSON object per line."`
}

// Help implements kong.HelpProvider.
func (*listDeliveriesCommand) Help() string {
	return `Prints a table with a line for each push of each delivery.

Examples:

	quarry deliveries
	quarry deliveries list --outcome failed --since 24h
	quarry deliveries list --follow`
}

// Run implements the command.
func (c *listDeliveriesCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	if c.Follow {
		err := c.followDeliveries(ctx, s.out, server)
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if name, err := findNameOrID(ctx, server, c.Repository); err == nil { // one that was removed keeps its deliveries
		c.Repository = name
	}
	found, err := c.fetchDeliveries(ctx, server)
	if err != nil {
		return err
	}
	if !c.JSON {
		return printDeliveries(s.out, found)
	}
	return printJSONLines(s.out, found)
}

func (c *listDeliveriesCommand) listParams() client.ListDeliveriesParams {
	query := client.ListDeliveriesParams{Connection: c.Connection, Repository: c.Repository, Outcome: c.Outcome}
	if c.Since > 0 {
		query.Since = wire.At(time.Now().Add(-c.Since).Truncate(time.Second))
	}
	return query
}

// maxPageDeliveries is the largest page of deliveries that the server returns.
const maxPageDeliveries = 100

// fetchDeliveries reads as many pages as the limit requires.
func (c *listDeliveriesCommand) fetchDeliveries(ctx context.Context, server *client.Client) ([]wire.Delivery, error) {
	var found []wire.Delivery
	query := c.listParams()
	for len(found) < c.Limit {
		query.Limit = min(c.Limit-len(found), maxPageDeliveries)
		page, err := server.ListDeliveries(ctx, query)
		if err != nil {
			return nil, err
		}
		found = append(found, page.Deliveries...)
		if page.NextCursor == "" {
			break
		}
		query.Cursor = page.NextCursor
	}
	return found, nil
}

// followInterval is the interval at which a command polls for new deliveries.
const followInterval = 500 * time.Millisecond

// followDeliveries prints each delivery when it arrives, and again when its state
// changes. It remembers only the newest deliveries, up to the limit.
func (c *listDeliveriesCommand) followDeliveries(ctx context.Context, out io.Writer, server *client.Client) error {
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	printed := map[string]string{}
	header := !c.JSON
	for {
		found, err := c.fetchDeliveries(ctx, server)
		if err != nil {
			return err
		}
		var news []wire.Delivery
		known := map[string]string{}
		for i := len(found) - 1; i >= 0; i-- { // oldest first
			state := stateOf(&found[i])
			if known[found[i].ID] = state; printed[found[i].ID] != state {
				news = append(news, found[i])
			}
		}
		printed = known
		if c.JSON {
			err = printJSONLines(out, news)
		} else if len(news) > 0 {
			err = printDeliveryTable(out, news, header)
			header = false
		}
		if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// stateOf returns a string that differs whenever the state of a delivery differs.
func stateOf(d *wire.Delivery) string {
	var b strings.Builder
	b.WriteString(string(d.Outcome))
	for i := range d.Pushes {
		b.WriteString(" " + string(d.Pushes[i].Outcome))
	}
	return b.String()
}

type showDeliveryCommand struct {
	askFlags
	ID   string `arg:"" help:"ID of the delivery as deliveries list prints it, or CONNECTION/ID with the ID that the code host shows."`
	JSON bool   `help:"Print the answer of the API as JSON."`
}

// Help implements kong.HelpProvider.
func (*showDeliveryCommand) Help() string {
	return `Prints the delivery, each of its pushes, and the times at which it was received, indexed and searchable.

Examples:

	quarry deliveries show 2-170
	quarry deliveries show hub/72d3162e-cc78-11e3-81ab-4c9367dc0958`
}

// Run implements the command.
func (c *showDeliveryCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	d, err := findDelivery(ctx, server, c.ID)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSONLines(s.out, []wire.Delivery{*d})
	}
	return printDelivery(s.out, d)
}

var deliveryKeyPattern = regexp.MustCompile(`^[0-9]+-[0-9]+$`)

// findDelivery returns the delivery with the given ID. If id is an ID of the sender, it
// returns the newest delivery with that ID that led to a push.
func findDelivery(ctx context.Context, server *client.Client, id string) (*wire.Delivery, error) {
	if deliveryKeyPattern.MatchString(id) {
		return server.GetDelivery(ctx, id)
	}
	connection, deliveryID, ok := strings.Cut(id, "/")
	if !ok {
		return nil, usageErrorf("%q is not an ID of a delivery: want one such as 2-170, or CONNECTION/ID", id)
	}
	query := client.ListDeliveriesParams{Connection: connection, DeliveryID: deliveryID, Limit: maxPageDeliveries}
	var first *wire.Delivery
	for {
		page, err := server.ListDeliveries(ctx, query)
		if err != nil {
			return nil, err
		}
		for i := range page.Deliveries {
			if d := &page.Deliveries[i]; len(d.Pushes) > 0 {
				return d, nil
			} else if first == nil {
				first = d
			}
		}
		if page.NextCursor == "" {
			break
		}
		query.Cursor = page.NextCursor
	}
	if first == nil {
		return nil, fmt.Errorf("the server has no delivery %s of connection %s", deliveryID, connection)
	}
	return first, nil
}

type redeliverCommand struct {
	askFlags
	ID   string `arg:"" help:"ID of the delivery as deliveries list prints it, or CONNECTION/ID with the ID that the code host shows."`
	JSON bool   `help:"Print the answer of the API as JSON."`
}

// Help implements kong.HelpProvider.
func (*redeliverCommand) Help() string {
	return `Appends the pushes of the delivery to the event log again, so that the server fetches and indexes their refs. Prints the ID of the new delivery.

Example:

	quarry deliveries redeliver 2-170`
}

// Run implements the command.
func (c *redeliverCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	d, err := findDelivery(ctx, server, c.ID)
	if err != nil {
		return err
	}
	again, err := server.Redeliver(ctx, d.ID)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSONLines(s.out, []*wire.Redelivered{again})
	}
	if len(again.Positions) == 0 {
		return errors.New("the server appended nothing")
	}
	first := again.Positions[0]
	_, err = fmt.Fprintf(s.out, "%d-%d: %d pushes, as delivery %s\n", first.Partition, first.Offset, len(again.Positions), again.DeliveryID)
	return err
}

// printJSONLines prints each element as one line of JSON.
func printJSONLines[T any](out io.Writer, elements []T) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, e := range elements {
		if err := encoder.Encode(e); err != nil {
			return err
		}
	}
	return nil
}
