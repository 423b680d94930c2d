package web

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// lettersPerPage is how many dead letters a page lists.
const lettersPerPage = 50

// maxReasonBytes bounds the reason for dropping a dead letter.
const maxReasonBytes = 1024

// deadLetterList is the data of the page of dead letters.
type deadLetterList struct {
	Letters        []wire.DeadLetter
	Open           int // in total, whatever the filter
	Repository     string
	Next, Previous string
}

func (s *Server) deadLettersPage(w http.ResponseWriter, v *pageRequest) error {
	return s.showDeadLetters(w, v, form{}, 0)
}

func (s *Server) showDeadLetters(w http.ResponseWriter, v *pageRequest, f form, status int) error {
	ctx := v.r.Context()
	asked := v.r.URL.Query()
	params := client.ListDeadLettersParams{
		Page: pageNumber(asked), PerPage: lettersPerPage, Repository: cutText(asked.Get("repository"), code.MaxNameBytes),
		Stage: cutText(asked.Get("stage"), event.MaxSourceBytes), Type: cutText(asked.Get("type"), event.MaxSourceBytes),
	}
	page, err := s.operationsOf(v).ListDeadLetters(ctx, params)
	if message, _, ok := refusedOperation(err); ok {
		f.addError("", toSentence(message))
		page = &wire.DeadLetterPage{}
	} else if err != nil {
		return operationError(v, err)
	}
	list := &deadLetterList{Letters: page.Letters, Open: page.Open, Repository: params.Repository}
	list.Previous, list.Next = pageLinks("/admin/deadletters", asked, params.Page, len(page.Letters) == lettersPerPage)
	return s.renderPage(w, v, view{template: "deadletters", title: s.texts.mustFormat("deadletters"), status: status, form: f, data: list})
}

// deadLetterPosition parses {id} of the path: partition-offset.
func deadLetterPosition(id string) (partition int, offset int64, err error) {
	left, right, _ := strings.Cut(id, "-")
	partition, err1 := strconv.Atoi(left)
	offset, err2 := strconv.ParseInt(right, 10, 64)
	if err1 != nil || err2 != nil || partition < 0 || offset < 0 {
		return 0, 0, errNoPage
	}
	return partition, offset, nil
}

func (s *Server) deadLetterPage(w http.ResponseWriter, v *pageRequest) error {
	partition, offset, err := deadLetterPosition(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	ctx := v.r.Context()
	record, err := s.operationsOf(v).GetDeadLetter(ctx, partition, offset)
	if err != nil {
		return operationError(v, err)
	}
	return s.renderPage(w, v, view{template: "deadletter", title: s.texts.mustFormat("deadletter", "id", record.ID), data: record})
}

// resolveDeadLetter replays or drops the dead letter in the form.
func (s *Server) resolveDeadLetter(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	partition, offset, err := deadLetterPosition(f.Get("deadletter"))
	if err != nil {
		return err
	}
	ctx := v.r.Context()
	api, done := s.operationsOf(v), "deadletter-replayed"
	switch f.Get("do") {
	case "replay":
		_, err = api.ReplayDeadLetter(ctx, partition, offset)
	case "drop":
		_, err = api.DropDeadLetter(ctx, partition, offset, client.DropDeadLetterParams{Reason: cutText(f.Get("reason"), maxReasonBytes)})
		done = "deadletter-dropped"
	default:
		return errNoPage
	}
	if err != nil {
		return s.showRefusal(w, v, f, err, s.showDeadLetters)
	}
	return redirectDone(w, v, "/admin/deadletters", done)
}
