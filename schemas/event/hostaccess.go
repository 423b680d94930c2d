package event

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// The events of TopicAccounts about permissions of code hosts.
const (
	TypeHostAccessRead      Type = "dev.quarry.host.access.read.v1"
	TypeHostAccessConfirmed Type = "dev.quarry.host.access.confirmed.v1"
	TypeHostAccessDoubted   Type = "dev.quarry.host.access.doubted.v1"
)

// Bounds of the events about permissions of code hosts.
const (
	// MaxHostUsers bounds the users and the e-mail addresses, each, of a HostAccessRead.
	MaxHostUsers = 10_000
	// MaxHostEmailBytes bounds an e-mail address of a HostAccessRead.
	MaxHostEmailBytes = 60
	// MaxConfirmed bounds the repositories of a HostAccessConfirmed.
	MaxConfirmed = 1000
)

// HostAccessRead lists the users who can read a repository at its code host. It replaces
// the earlier list of the repository; without users and addresses it grants nothing.
type HostAccessRead struct {
	ID         code.RepositoryID `json:"repository"`
	Connection string            `json:"connection"`
	// Users are user IDs at the host, Emails are addresses that the host has verified, in
	// lower case.
	Users  []string `json:"users,omitempty"`
	Emails []string `json:"emails,omitempty"`
	// At is the time when the reading began.
	At time.Time `json:"at"`
}

// HostAccessConfirmed reports that the permissions of repositories were read again at
// their code host, and that the last HostAccessRead of each is still current.
type HostAccessConfirmed struct {
	Connection   string              `json:"connection"`
	Repositories []code.RepositoryID `json:"repositories"`
	// At is the time when the first of the readings began.
	At time.Time `json:"at"`
}

// HostAccessDoubted reports that the permissions of a repository, or of every repository
// of the connection, may have changed at the code host and must be read again.
type HostAccessDoubted struct {
	Connection string `json:"connection"`
	// ID is zero for every repository.
	ID code.RepositoryID `json:"repository,omitzero"`
	// Removed is the user, by ID at the host, who lost access; empty if the delivery names
	// none. The user loses the access at once, until a reading that began later grants it.
	Removed string    `json:"removed,omitempty"`
	At      time.Time `json:"at"`
}

// EventType implements Event.
func (*HostAccessRead) EventType() Type      { return TypeHostAccessRead }
func (*HostAccessConfirmed) EventType() Type { return TypeHostAccessConfirmed }
func (*HostAccessDoubted) EventType() Type   { return TypeHostAccessDoubted }

// Key implements Event. It returns 0, because the topic has one partition.
func (*HostAccessRead) Key() code.RepositoryID      { return 0 }
func (*HostAccessConfirmed) Key() code.RepositoryID { return 0 }
func (*HostAccessDoubted) Key() code.RepositoryID   { return 0 }

func (c *checker) checkHostAccessRead(e *HostAccessRead) {
	c.checkRepositoryID(e.ID)
	c.checkText("connection", e.Connection, 1, MaxConnectionBytes)
	c.checkHostUsers("users", e.Users, account.MaxHostUserBytes)
	c.checkHostUsers("emails", e.Emails, MaxHostEmailBytes)
	for _, email := range e.Emails {
		c.checkEmail("emails", email)
	}
	c.checkTimeSet("at", e.At)
}

// checkHostUsers checks the users or the addresses of a repository.
func (c *checker) checkHostUsers(field string, list []string, maxBytes int) {
	if len(list) > MaxHostUsers {
		c.addErrorf("%s: %d, at most %d", field, len(list), MaxHostUsers)
		return
	}
	for _, s := range list {
		c.checkText(field, s, 1, maxBytes)
	}
}

func (c *checker) checkHostAccessConfirmed(e *HostAccessConfirmed) {
	c.checkText("connection", e.Connection, 1, MaxConnectionBytes)
	if len(e.Repositories) == 0 || len(e.Repositories) > MaxConfirmed {
		c.addErrorf("repositories: %d, want 1 to %d", len(e.Repositories), MaxConfirmed)
		return
	}
	for _, id := range e.Repositories {
		c.checkRepositoryID(id)
	}
	c.checkTimeSet("at", e.At)
}

func (c *checker) checkHostAccessDoubted(e *HostAccessDoubted) {
	c.checkText("connection", e.Connection, 1, MaxConnectionBytes)
	if e.ID != 0 {
		c.checkRepositoryID(e.ID)
	}
	c.checkText("removed", e.Removed, 0, account.MaxHostUserBytes)
	c.checkTimeSet("at", e.At)
}
