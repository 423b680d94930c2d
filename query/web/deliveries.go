package web

import (
	"net/http"
	"net/url"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// deliveriesPerPage is how many deliveries a page lists.
const deliveriesPerPage = 50

// deliveryList is the data of the page of deliveries.
type deliveryList struct {
	Deliveries             []wire.Delivery
	Repository, Connection string
	Outcomes               []choice
	Next                   string // the address of the next page; empty if there is none
	First                  string // the address of the first page; empty on it
}

// shownOutcomes are the outcomes in the filter.
var shownOutcomes = []wire.DeliveryOutcome{
	wire.DeliveryOutcomeWaiting, wire.DeliveryOutcomeIndexed, wire.DeliveryOutcomeFailed, wire.DeliveryOutcomeRefused, wire.DeliveryOutcomeIgnored,
	wire.DeliveryOutcomeUnregistered, wire.DeliveryOutcomeUnselected, wire.DeliveryOutcomeUnchanged, wire.DeliveryOutcomeDuplicate,
}

func (s *Server) deliveriesPage(w http.ResponseWriter, v *pageRequest) error {
	ctx := v.r.Context()
	asked := v.r.URL.Query()
	params := client.ListDeliveriesParams{
		Repository: cutText(asked.Get("repository"), code.MaxNameBytes), Connection: cutText(asked.Get("connection"), event.MaxConnectionBytes),
		DeliveryID: cutText(asked.Get("delivery"), event.MaxDeliveryIDBytes),
		Outcome:    asked.Get("outcome"), Cursor: asked.Get("cursor"), Limit: deliveriesPerPage,
	}
	page, err := s.operationsOf(v).ListDeliveries(ctx, params)
	f := form{}
	if message, _, ok := refusedOperation(err); ok {
		f.addError("", toSentence(message))
		page = &wire.DeliveryPage{}
	} else if err != nil {
		return operationError(v, err)
	}
	list := &deliveryList{Deliveries: page.Deliveries, Repository: params.Repository, Connection: params.Connection}
	choices := []choice{{Value: "", Label: s.texts.mustFormat("deliveries_any")}}
	for _, outcome := range shownOutcomes {
		choices = append(choices, choice{Value: string(outcome), Label: s.texts.mustFormat("outcome_" + string(outcome))})
	}
	list.Outcomes = markChosen(params.Outcome, choices...)
	link := func(cursor string) string {
		kept := url.Values{}
		for _, name := range []string{"repository", "connection", "delivery", "outcome"} {
			if value := asked.Get(name); value != "" {
				kept.Set(name, value)
			}
		}
		if cursor != "" {
			kept.Set("cursor", cursor)
		}
		return "/deliveries?" + kept.Encode()
	}
	if page.NextCursor != "" {
		list.Next = link(page.NextCursor)
	}
	if params.Cursor != "" {
		list.First = link("")
	}
	return s.renderPage(w, v, view{template: "deliveries", title: s.texts.mustFormat("deliveries"), form: f, data: list})
}

// deliveryStory is the history of one delivery.
type deliveryStory struct {
	*wire.Delivery
	CanRedeliver bool
}

func (s *Server) deliveryPage(w http.ResponseWriter, v *pageRequest) error {
	return s.showDelivery(w, v, form{}, 0)
}

func (s *Server) showDelivery(w http.ResponseWriter, v *pageRequest, f form, status int) error {
	ctx := v.r.Context()
	delivery, err := s.operationsOf(v).GetDelivery(ctx, v.r.PathValue("key"))
	if err != nil {
		if refusal, ok := asRefusal(err, http.StatusBadRequest); ok {
			return refusal
		}
		return operationError(v, err)
	}
	page := deliveryStory{delivery, len(delivery.Pushes) > 0}
	return s.renderPage(w, v, view{template: "delivery", title: s.texts.mustFormat("delivery", "id", delivery.ID), status: status, form: f, data: page})
}

// asRefusal returns errNoPage for an error with that status: no page has that address.
func asRefusal(err error, status int) (error, bool) {
	_, got, ok := refusedOperation(err)
	return errNoPage, ok && got == status
}

// redeliver requests that the refs of a delivery be checked again.
func (s *Server) redeliver(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	ctx := v.r.Context()
	if _, err = s.operationsOf(v).Redeliver(ctx, v.r.PathValue("key")); err != nil {
		return s.showRefusal(w, v, f, err, s.showDelivery)
	}
	return redirectDone(w, v, "/deliveries", "redelivered")
}

// formatElapsed formats the time between two moments; empty if one is missing.
func formatElapsed(from, to wire.Time) string {
	if from.IsZero() || to.IsZero() || to.Before(from.Time) {
		return ""
	}
	return formatTook(to.Sub(from.Time))
}
