package web

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// auditPerPage is how many entries of the audit log a page lists.
const auditPerPage = 50

// auditList is the data of the page of the audit log.
type auditList struct {
	Entries        []auditRow
	Total          int
	Action, Actor  string
	Since          string // a day
	Heads          []wire.AuditHead
	Next, Previous string
}

// auditRow is an entry, with the name of its actor.
type auditRow struct {
	wire.AuditRecord
	Who string
}

// Details returns the metadata as pairs, sorted by name; templates call it.
func (r auditRow) Details() [][2]string {
	pairs := make([][2]string, 0, len(r.Metadata))
	for _, name := range slices.Sorted(maps.Keys(r.Metadata)) {
		pairs = append(pairs, [2]string{name, r.Metadata[name]})
	}
	return pairs
}

func (s *Server) auditPage(w http.ResponseWriter, v *pageRequest) error {
	ctx := v.r.Context()
	asked := v.r.URL.Query()
	list := &auditList{Action: cutText(asked.Get("action"), audit.MaxMetadataBytes), Actor: cutText(asked.Get("actor"), audit.MaxMetadataBytes), Since: asked.Get("since")}
	params := client.ListAuditRecordsParams{Action: list.Action, Actor: list.Actor, Page: pageNumber(asked), PerPage: auditPerPage}
	if day, err := time.Parse(time.DateOnly, list.Since); err == nil {
		params.Since = wire.At(day)
	} else {
		list.Since = ""
	}
	names := map[string]string{}
	users, err := s.o.Accounts.Users(v.principal)
	if err != nil {
		return err
	}
	for _, u := range users {
		names[string(u.ID)] = u.Email
		if u.Email == list.Actor {
			params.Actor = string(u.ID)
		}
	}
	api, f := s.operationsOf(v), form{}
	page, err := api.ListAuditRecords(ctx, params)
	if message, _, ok := refusedOperation(err); ok {
		f.addError("", toSentence(message))
		page = &client.Page[wire.AuditRecord]{}
	} else if err != nil {
		return operationError(v, err)
	}
	heads, err := api.GetAuditHead(ctx)
	if err != nil && !isMissing(err) {
		return operationError(v, err)
	}
	if heads != nil {
		list.Heads = heads.Heads
	}
	list.Total = page.Total
	for _, entry := range page.Items {
		row := auditRow{entry, names[entry.ActorID]}
		if row.Who == "" {
			row.Who = entry.ActorID
		}
		list.Entries = append(list.Entries, row)
	}
	list.Previous, list.Next = pageLinks("/admin/audit", asked, params.Page, !page.Last())
	return s.renderPage(w, v, view{template: "audit", title: s.texts.mustFormat("audit"), form: f, data: list})
}
