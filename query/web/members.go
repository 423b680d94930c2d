package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// memberRow is a row of the list of members.
type memberRow struct {
	*account.User
	This bool
}

// Waiting reports whether the member waits for approval.
func (m memberRow) Waiting() bool { return m.State == account.StatePending }

// Gone reports whether the member is suspended.
func (m memberRow) Gone() bool { return m.State == account.StateSuspended }

// IsOwner reports whether the member administers the server.
func (m memberRow) IsOwner() bool { return m.Role == account.RoleOwner }

func (s *Server) membersPage(w http.ResponseWriter, v *pageRequest) error {
	return s.showMembers(w, v, form{}, shownLinks{}, 0)
}

// Bounds of lists: users beyond them are counted, and found with the filter.
const (
	membersPerPage = 100
	maxShown       = 100 // of waiting users, and of invitations
)

// memberList is the data of the page.
type memberList struct {
	Members, Waiting []memberRow
	Matching, More   int    // members that match the filter; waiting users that are not shown
	Filter           string // part of a name or address
	Next, Previous   string // addresses of pages; empty if there are none
	Invitations      []*account.Invitation
	MoreInvitations  int
	Link             string // of the invitation that was just created
	Reset, ResetFor  string // link that was just created, and its user
	Email            input
	Roles, Days      []choice
}

// shownLinks are links that were just created, and are shown once.
type shownLinks struct{ invitation, reset, resetFor string }

func (s *Server) showMembers(w http.ResponseWriter, v *pageRequest, f form, links shownLinks, status int) error {
	users, err := s.o.Accounts.Users(v.principal)
	if err != nil {
		return err
	}
	if err := s.recordRead(w, v, audit.ListedUsers, http.StatusOK); err != nil {
		return fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	}
	invitations, err := s.o.Accounts.Invitations(v.principal)
	if err != nil {
		return err
	}
	list := memberList{
		Filter: strings.TrimSpace(v.r.URL.Query().Get("query")), Link: links.invitation, Reset: links.reset, ResetFor: links.resetFor,
		Invitations: invitations[:min(len(invitations), maxShown)], MoreInvitations: max(len(invitations)-maxShown, 0),
		Email: f.newInput(input{Name: "email", Label: "Email address", Type: "email", Complete: "off", Max: account.MaxEmailBytes, Hint: "Only this address may accept. Empty: anyone with the link."}),
		Roles: markChosen(f.Get("role"), choice{Value: string(account.RoleMember), Label: "Member"}, choice{Value: string(account.RoleOwner), Label: "Owner"}),
		Days:  markChosen(f.Get("days"), choice{Value: "7", Label: "7 days"}, choice{Value: "1", Label: "1 day"}, choice{Value: "30", Label: "30 days"}),
	}
	list.partitionUsers(users, v.user.ID)
	list.cutPage(v.r.URL.Query().Get("page"))
	return s.renderPage(w, v, view{template: "members", title: "Members", section: "members", status: status, form: f, data: &list})
}

// partitionUsers adds the users that match the filter to their lists.
func (l *memberList) partitionUsers(users []*account.User, visitor account.UserID) {
	filter := strings.ToLower(l.Filter)
	for _, u := range users {
		if !strings.Contains(strings.ToLower(u.Name), filter) && !strings.Contains(u.Email, filter) {
			continue
		}
		row := memberRow{u, u.ID == visitor}
		if row.Waiting() {
			l.Waiting = append(l.Waiting, row)
		} else {
			l.Members = append(l.Members, row)
		}
	}
}

// cutPage limits the list to one page; an invalid number selects the first.
func (l *memberList) cutPage(asked string) {
	l.Matching, l.More = len(l.Members), max(len(l.Waiting)-maxShown, 0)
	l.Waiting = l.Waiting[:min(len(l.Waiting), maxShown)]
	page, err := strconv.Atoi(asked)
	if last := (l.Matching - 1) / membersPerPage; err != nil || page < 0 || page > last {
		page = 0
	}
	begin := page * membersPerPage
	end := min(begin+membersPerPage, l.Matching)
	if page > 0 {
		l.Previous = l.pageURL(page - 1)
	}
	if end < l.Matching {
		l.Next = l.pageURL(page + 1)
	}
	l.Members = l.Members[begin:end]
}

func (l *memberList) pageURL(page int) string {
	return "/settings/members?" + url.Values{"query": {l.Filter}, "page": {strconv.Itoa(page)}}.Encode()
}

func markChosen(value string, choices ...choice) []choice {
	for i := range choices {
		choices[i].Chosen = choices[i].Value == value
	}
	return choices
}

// changeMember applies the action of the button to a member.
func (s *Server) changeMember(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	ctx, p, id, accounts := v.r.Context(), v.principal, account.UserID(f.Get("user")), s.o.Accounts
	what := f.Get("do")
	switch what {
	case "approved":
		_, err = accounts.Approve(ctx, p, id)
	case "suspended":
		_, err = accounts.Suspend(ctx, p, id)
	case "reinstated":
		_, err = accounts.Reinstate(ctx, p, id)
	case "owner":
		what = "role"
		_, err = accounts.ChangeRole(ctx, p, id, account.RoleOwner)
	case "member":
		what = "role"
		_, err = accounts.ChangeRole(ctx, p, id, account.RoleMember)
	case "removed":
		err = accounts.Remove(ctx, p, id)
	default:
		err = errNoPage
	}
	if err != nil {
		return err
	}
	return redirectDone(w, v, "/settings/members", what)
}

// createInvitation responds with the page that shows the link, and not with a redirect,
// because the link cannot be shown again.
func (s *Server) createInvitation(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	days, err := strconv.Atoi(f.Get("days"))
	if err != nil || !slices.Contains([]int{1, 7, 30}, days) {
		f.addError("", "Choose how long the invitation is valid.")
		return s.showMembers(w, v, f, shownLinks{}, 0)
	}
	_, value, err := s.o.Accounts.Invite(v.r.Context(), v.principal, auth.Invitation{
		Email: f.Get("email"), Role: account.Role(f.Get("role")), ExpiresIn: time.Duration(days) * 24 * time.Hour,
	})
	if err != nil {
		f, status := s.formWithError(w, v, f, err, map[string]string{"role": ""})
		return s.showMembers(w, v, f, shownLinks{}, status)
	}
	return s.showMembers(w, v, form{}, shownLinks{invitation: s.o.PublicURL + "/invite?token=" + url.QueryEscape(value)}, 0)
}

func (s *Server) revokeInvitation(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	if err := s.o.Accounts.RevokeInvitation(v.r.Context(), v.principal, account.InvitationID(f.Get("invitation"))); err != nil {
		return err
	}
	return redirectDone(w, v, "/settings/members", "invitation-ended")
}
