package web

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// replayList is the data of the page of replays.
type replayList struct {
	*wire.Replays
	Projection []choice
	To         input
	Running    *wire.Replay // nil if none is running
	// NodesRunning is the latest replay if only replicas of a front build it.
	NodesRunning *wire.Replay
}

func (s *Server) replaysPage(w http.ResponseWriter, v *pageRequest) error {
	return s.showReplays(w, v, form{}, 0)
}

func (s *Server) showReplays(w http.ResponseWriter, v *pageRequest, f form, status int) error {
	ctx := v.r.Context()
	replays, err := s.operationsOf(v).ListReplays(ctx)
	if err != nil {
		return operationError(v, err)
	}
	list := &replayList{Replays: replays, To: f.newInput(input{
		Name: "to", Label: s.texts.mustFormat("replays_to"), Hint: s.texts.mustFormat("replays_to_hint"), Complete: "off", Max: maxReasonBytes,
	})}
	choices := []choice{{Value: "", Label: s.texts.mustFormat("replays_all")}}
	for _, name := range replays.Projections {
		choices = append(choices, choice{Value: name, Label: name})
	}
	list.Projection = markChosen(f.Get("projection"), choices...)
	for i := range replays.Replays {
		if r := &replays.Replays[i]; r.State == wire.ReplayStateBuilding || r.State == wire.ReplayStateSwitching {
			list.Running = r
			break
		}
	}
	if list.Running == nil && len(replays.Replays) > 0 && slices.ContainsFunc(replays.Nodes, func(n wire.ReplayNode) bool { return n.State == wire.ReplayNodeStateBuilding }) {
		list.NodesRunning = &replays.Replays[0]
	}
	return s.renderPage(w, v, view{template: "replays", title: s.texts.mustFormat("replays"), status: status, form: f, data: list})
}

// changeReplays starts or cancels a replay, or rolls back to the previous version.
func (s *Server) changeReplays(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	ctx := v.r.Context()
	api, done := s.operationsOf(v), "replay-started"
	switch f.Get("do") {
	case "start":
		_, err = api.StartReplay(ctx, wire.ReplayRequest{Projection: f.Get("projection"), To: f.Get("to")})
	case "rollback":
		_, err = api.RollBackReplay(ctx)
		done = "rollback-started"
	case "cancel":
		id, invalid := strconv.Atoi(f.Get("replay"))
		if invalid != nil {
			return errNoPage
		}
		_, err = api.CancelReplay(ctx, id)
		done = "replay-canceled"
	default:
		return errNoPage
	}
	if err != nil {
		return s.showRefusal(w, v, f, err, s.showReplays)
	}
	return redirectDone(w, v, "/admin/replays", done)
}

// Percent returns how much of a replay is done; templates call it.
func (l *replayList) Percent(r *wire.Replay) int {
	if r.RecordsTotal <= 0 {
		return 0
	}
	return int(min(100*r.Records/r.RecordsTotal, 100))
}
