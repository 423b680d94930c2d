package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// memberRow is a user as the list shows them.
type memberRow struct {
	*account.User
	This bool
}

// Waiting, Gone and IsOwner say what the list offers for a member.
func (m memberRow) Waiting() bool { return m.State == account.StatePending }

// Gone reports whether the member is suspended.
func (m memberRow) Gone() bool { return m.State == account.StateSuspended }

// IsOwner reports whether the member administers the server.
func (m memberRow) IsOwner() bool { return m.Role == account.RoleOwner }

func (s *Server) membersPage(w http.ResponseWriter, v *visit) error {
	return s.showMembers(w, v, form{}, "", 0)
}

// showMembers shows the page; link is that of an invitation that was just made.
func (s *Server) showMembers(w http.ResponseWriter, v *visit, f form, link string, status int) error {
	users, err := s.o.Accounts.Users(v.principal)
	if err != nil {
		return err
	}
	if err := s.noteMembers(w, v); err != nil {
		return err
	}
	invitations, err := s.o.Accounts.Invitations(v.principal)
	if err != nil {
		return err
	}
	var members, waiting []memberRow
	for _, u := range users {
		row := memberRow{u, u.ID == v.user.ID}
		if row.Waiting() {
			waiting = append(waiting, row)
		} else {
			members = append(members, row)
		}
	}
	return s.show(w, v, view{template: "members", title: "Members", section: "members", status: status, form: f, data: struct {
		Members, Waiting []memberRow
		Invitations      []*account.Invitation
		Link             string
		Email            input
		Roles, Days      []choice
	}{
		members, waiting, invitations, link,
		f.field(input{Name: "email", Label: "E-mail address", Type: "email", Complete: "off", Max: account.MaxEmailBytes, Hint: "Only this address may accept then. Empty: whoever has the link."}),
		chosen(f.Get("role"), choice{Value: string(account.RoleMember), Label: "Member"}, choice{Value: string(account.RoleOwner), Label: "Owner"}),
		chosen(f.Get("days"), choice{Value: "7", Label: "7 days"}, choice{Value: "1", Label: "1 day"}, choice{Value: "30", Label: "30 days"}),
	}})
}

// noteMembers has it written down that somebody looks at the list.
func (s *Server) noteMembers(w http.ResponseWriter, v *visit) error {
	if s.o.Audit == nil {
		return nil
	}
	err := s.o.Audit.Note(v.r.Context(), audit.Record{
		At: s.o.Now().UTC(), Action: audit.ListedUsers, Actor: v.principal.Actor, TargetType: audit.TargetInstance,
		RequestID: w.Header().Get("X-Request-Id"), Status: http.StatusOK,
	})
	if err != nil {
		return fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	}
	return nil
}

func chosen(value string, choices ...choice) []choice {
	for i := range choices {
		choices[i].Chosen = choices[i].Value == value
	}
	return choices
}

// changeMember does to a member what the button says.
func (s *Server) changeMember(w http.ResponseWriter, v *visit) error {
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
	return done(w, v, "/settings/members", what)
}

// invite answers with the page that shows the link, and not by a redirect: the link
// is nowhere to be shown again.
func (s *Server) invite(w http.ResponseWriter, v *visit) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	days, err := strconv.Atoi(f.Get("days"))
	if err != nil || !slices.Contains([]int{1, 7, 30}, days) {
		f.wrong("", "Choose how long the invitation is good for.")
		return s.showMembers(w, v, f, "", 0)
	}
	_, value, err := s.o.Accounts.Invite(v.r.Context(), v.principal, auth.Invitation{
		Email: f.Get("email"), Role: account.Role(f.Get("role")), ExpiresIn: time.Duration(days) * 24 * time.Hour,
	})
	if err != nil {
		f, status := s.again(w, v, f, err, map[string]string{"role": ""})
		return s.showMembers(w, v, f, "", status)
	}
	return s.showMembers(w, v, form{}, s.o.PublicURL+"/invite?token="+url.QueryEscape(value), 0)
}

func (s *Server) revokeInvitation(w http.ResponseWriter, v *visit) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	if err := s.o.Accounts.RevokeInvitation(v.r.Context(), v.principal, account.InvitationID(f.Get("invitation"))); err != nil {
		return err
	}
	return done(w, v, "/settings/members", "invitation-ended")
}
