package event

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds of fields, in bytes or elements, checked by Encode and Decode alike.
// Who takes a value from outside cuts or refuses it before.
const (
	MaxIDBytes         = 512
	MaxSourceBytes     = 512
	MaxConnectionBytes = 256
	MaxDeliveryIDBytes = 256
	MaxPusherBytes     = 256
	MaxReasonBytes     = 1024
	MaxObjectNameBytes = 256
	MaxLanguageBytes   = 64
	MaxSkipBytes       = 64
	MaxTopicBytes      = 249
	// MaxSegments bounds the segments of a RevisionIndexed and the inputs of a
	// SegmentsMerged.
	MaxSegments = 4096
)

// maxRepositoryID is the largest ID that 52 bits hold.
const maxRepositoryID = 1<<52 - 1

func validateEvent(env Envelope, ev Event) error {
	c := new(checker)
	c.text("id", env.ID, 1, MaxIDBytes)
	c.text("source", env.Source, 1, MaxSourceBytes)
	c.time("time", env.Time)
	c.equal("subject", env.Subject, subjectOf(ev))
	switch e := ev.(type) {
	case *Push:
		c.push(e)
	case *RepositoryRegistered:
		c.repository(&e.Repository)
		c.time("at", e.At)
	case *RepositoryChanged:
		c.repository(&e.Repository)
		c.time("at", e.At)
	case *RepositoryRemoved:
		c.repositoryID(e.Repository)
		c.text("reason", e.Reason, 0, MaxReasonBytes)
		c.time("at", e.At)
	case *ErasureRequested:
		c.repositoryID(e.Repository)
		if (e.Commit == "") == (e.Path == "") {
			c.failf("want a commit or a path")
		}
		c.commit("commit", e.Commit)
		if e.Path != "" {
			c.text("path", e.Path, 1, code.MaxPathBytes)
			c.check("path", code.ValidatePath(e.Path))
		}
		c.time("at", e.At)
	case *RevisionIndexed:
		c.revisionIndexed(e)
	case *SegmentsMerged:
		c.segmentsMerged(e)
	case *Delivery:
		c.delivery(e)
	case *PushesHandled:
		c.pushesHandled(e)
	case *AuditRecorded:
		c.auditRecorded(e)
	case *AuditSealed:
		c.auditSealed(e)
	default:
		if !c.accountEvent(ev) {
			c.failf("%T is none of this package's events", ev)
		}
	}
	return c.err
}

// checker keeps the first rule that an event breaks.
type checker struct{ err error }

func (c *checker) failf(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

func (c *checker) check(field string, err error) {
	if err != nil {
		c.failf("%s: %w", field, err)
	}
}

// text checks that s is UTF-8 of min to max bytes without control characters.
func (c *checker) text(field, s string, min, max int) {
	if len(s) < min || len(s) > max {
		c.failf("%s: %d bytes, want %d to %d", field, len(s), min, max)
		return
	}
	if !utf8.ValidString(s) {
		c.failf("%s: %.80q is not UTF-8", field, s)
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			c.failf("%s: %.80q holds a control character", field, s)
			return
		}
	}
}

func (c *checker) equal(field, got, want string) {
	if got != want {
		c.failf("%s: %.80q, want %q", field, got, want)
	}
}

// time checks that t can be written as RFC 3339.
func (c *checker) time(field string, t time.Time) {
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		c.failf("%s: year %d, want 0 to 9999", field, y)
	}
}

func (c *checker) atLeastZero(field string, n int64) {
	if n < 0 {
		c.failf("%s: %d is negative", field, n)
	}
}

func (c *checker) repositoryID(id code.RepositoryID) {
	if id == 0 || id > maxRepositoryID {
		c.failf("repository: ID %d, want 1 to %d", id, maxRepositoryID)
	}
}

func (c *checker) ref(field string, r code.Ref) {
	c.check(field, r.Validate())
	if !utf8.ValidString(string(r)) {
		c.failf("%s: %.80q is not UTF-8", field, string(r))
	}
}

// commit accepts the empty ID; the all-zero name of git is not an ID.
func (c *checker) commit(field string, id code.CommitID) {
	if id == "" {
		return
	}
	parsed, err := code.ParseCommitID(string(id))
	c.check(field, err)
	if err == nil && parsed == "" {
		c.failf("%s: all zeros, leave it empty for no commit", field)
	}
}

func (c *checker) branch(field, short string) {
	if short != "" {
		c.ref(field, code.BranchRef(short))
	}
}

func (c *checker) lowerHex(field, s string, n int) {
	if len(s) != n || strings.Trim(s, "0123456789abcdef") != "" {
		c.failf("%s: %.80q, want %d lower-case hexadecimal characters", field, s, n)
	}
}

func (c *checker) push(e *Push) {
	c.repositoryID(e.Repository)
	switch e.Action {
	case ActionCreated, ActionUpdated, ActionDeleted:
		c.ref("ref", e.Ref)
	case ActionRefresh:
		if e.Ref != "" {
			c.ref("ref", e.Ref)
		}
	default:
		c.failf("action: %.80q is unknown", string(e.Action))
	}
	c.commit("before", e.Before)
	c.commit("after", e.After)
	if e.Forced != "" && e.Forced != "true" && e.Forced != "false" {
		c.failf("forced: %.80q, want \"true\", \"false\" or nothing", e.Forced)
	}
	c.text("connection", e.Connection, 0, MaxConnectionBytes)
	c.text("deliveryId", e.DeliveryID, 0, MaxDeliveryIDBytes)
	c.text("pusher", e.Pusher, 0, MaxPusherBytes)
	if e.BodySHA256 != "" {
		c.lowerHex("bodySha256", e.BodySHA256, 64)
	}
	c.time("receivedAt", e.ReceivedAt)
	c.time("hostTime", e.HostTime)
}

func (c *checker) repository(r *code.Repository) {
	c.repositoryID(r.ID)
	if !r.Kind.Valid() {
		c.failf("repository.kind: %.80q is unknown", string(r.Kind))
	}
	c.text("repository.name", r.Name, 1, code.MaxNameBytes)
	c.text("repository.displayName", r.DisplayName, 0, code.MaxNameBytes)
	c.cloneURL("repository.cloneUrl", r.CloneURL)
	c.text("repository.webUrl", r.WebURL, 0, code.MaxURLBytes)
	c.text("repository.imageUrl", r.ImageURL, 0, code.MaxURLBytes)
	c.text("repository.connection", r.Connection, 0, MaxConnectionBytes)
	c.branch("repository.defaultBranch", r.DefaultBranch)
	c.globs("repository.branches", r.Branches)
	c.globs("repository.tags", r.Tags)
}

func (c *checker) globs(field string, globs []string) {
	if len(globs) > code.MaxRefGlobs {
		c.failf("%s: %d globs, at most %d", field, len(globs), code.MaxRefGlobs)
	}
	for _, glob := range globs {
		c.text(field, glob, 1, code.MaxRefGlobBytes)
	}
}

var errCredentials = errors.New("holds credentials; configure them on the connection instead")

// cloneURL refuses a URL with credentials without repeating them. A user name
// alone is normal for ssh and a token for HTTP.
func (c *checker) cloneURL(field, s string) {
	c.text(field, s, 1, code.MaxURLBytes)
	scheme, _, found := strings.Cut(s, "://")
	if !found {
		return
	}
	u, err := url.Parse(s)
	if err != nil {
		c.failf("%s: is no URL", field)
		return
	}
	if u.User == nil {
		return
	}
	_, hasPassword := u.User.Password()
	if hasPassword || strings.HasPrefix(strings.ToLower(scheme), "http") {
		c.check(field, errCredentials)
	}
}

func (c *checker) revisionIndexed(e *RevisionIndexed) {
	c.repositoryID(e.Repository)
	c.ref("ref", e.Ref)
	c.commit("commit", e.Commit)
	c.time("commitTime", e.CommitTime)
	c.branch("defaultBranch", e.DefaultBranch)
	if (e.BaseRef == "") != (e.BaseCommit == "") {
		c.failf("baseRef and baseCommit: want both or neither")
	}
	if e.BaseRef != "" {
		c.ref("baseRef", e.BaseRef)
	}
	c.commit("baseCommit", e.BaseCommit)
	if len(e.Segments) > MaxSegments {
		c.failf("segments: %d, at most %d", len(e.Segments), MaxSegments)
	}
	for i := range e.Segments {
		c.segment("segments", &e.Segments[i])
	}
	c.changes(e)
	c.position("cause", e.Cause)
	c.time("pushedAt", e.PushedAt)
	c.time("indexedAt", e.IndexedAt)
}

func (c *checker) changes(e *RevisionIndexed) {
	if e.ChangesObject != "" {
		c.objectName("changesObject", e.ChangesObject)
		if len(e.Changes) > 0 {
			c.failf("changes and changesObject: want one of them")
		}
	}
	if len(e.Changes) > MaxInlineChanges {
		c.failf("changes: %d, at most %d", len(e.Changes), MaxInlineChanges)
		return
	}
	for i := range e.Changes {
		change := &e.Changes[i]
		c.check("changes", code.ValidatePath(change.Path))
		if i > 0 && e.Changes[i-1].Path >= change.Path {
			c.failf("changes: path %.80q is not after its predecessor", change.Path)
		}
		c.text("changes.language", string(change.Language), 0, MaxLanguageBytes)
		c.text("changes.skipped", string(change.Skipped), 0, MaxSkipBytes)
		c.atLeastZero("changes.sizeBytes", change.SizeBytes)
	}
}

// objectName keeps a name from leaving the segment store's directory.
func (c *checker) objectName(field, s string) {
	c.text(field, s, 1, MaxObjectNameBytes)
	c.check(field, code.ValidatePath(s))
	if strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-/") != "" {
		c.failf("%s: %.80q, want letters, digits, '.', '_', '-' and '/'", field, s)
	}
}

func (c *checker) segment(field string, s *SegmentRef) {
	c.lowerHex(field+".id", s.ID, 32)
	c.atLeastZero(field+".sizeBytes", s.SizeBytes)
	c.atLeastZero(field+".textBytes", s.TextBytes)
	c.atLeastZero(field+".documents", int64(s.Documents))
}

func (c *checker) position(field string, p Position) {
	c.text(field+".topic", string(p.Topic), 1, MaxTopicBytes)
	c.atLeastZero(field+".partition", int64(p.Partition))
	c.atLeastZero(field+".offset", int64(p.Offset))
}

func (c *checker) segmentsMerged(e *SegmentsMerged) {
	c.atLeastZero("partition", int64(e.Partition))
	if len(e.Inputs) == 0 || len(e.Inputs) > MaxSegments {
		c.failf("inputs: %d segments, want 1 to %d", len(e.Inputs), MaxSegments)
	}
	for _, id := range e.Inputs {
		c.lowerHex("inputs", id, 32)
	}
	if e.Output != nil {
		c.segment("output", e.Output)
	}
	c.time("at", e.At)
}
