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

// Bounds of fields, in bytes or elements, checked by both Encode and Decode. Callers
// truncate or reject values from outside before they encode them.
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
	// MaxOutputs bounds the outputs of a SegmentsMerged, and MaxOrigins the origins of each.
	MaxOutputs = 64
	MaxOrigins = 4096
)

// maxRepositoryID is the largest ID that 52 bits hold.
const maxRepositoryID = 1<<52 - 1

func validateEvent(env Envelope, ev Event) error {
	c := new(checker)
	c.checkText("id", env.ID, 1, MaxIDBytes)
	c.checkText("source", env.Source, 1, MaxSourceBytes)
	c.checkTime("time", env.Time)
	c.checkEqual("subject", env.Subject, subjectOf(ev))
	if d, ok := definitions[ev.EventType()]; !ok || !d.check(c, ev) {
		c.addErrorf("%T is not an event of this package", ev)
	}
	return c.err
}

func (c *checker) checkRegistered(e *RepositoryRegistered) {
	c.checkRepository(&e.Repository)
	c.checkPrivateMark(e.PrivateMark)
	c.checkTime("at", e.At)
}

func (c *checker) checkChanged(e *RepositoryChanged) {
	c.checkRepository(&e.Repository)
	c.checkPrivateMark(e.PrivateMark)
	c.checkTime("at", e.At)
}

func (c *checker) checkPrivateMark(mark *Offset) {
	if mark != nil {
		c.checkNotNegative("privateMark", int64(*mark))
	}
}

func (c *checker) checkRemoved(e *RepositoryRemoved) {
	c.checkRepositoryID(e.Repository)
	c.checkText("reason", e.Reason, 0, MaxReasonBytes)
	c.checkTime("at", e.At)
}

func (c *checker) checkErasureRequested(e *ErasureRequested) {
	c.checkRepositoryID(e.Repository)
	if (e.Commit == "") == (e.Path == "") {
		c.addErrorf("want a commit or a path")
	}
	c.checkCommit("commit", e.Commit)
	if e.Path != "" {
		c.checkText("path", e.Path, 1, code.MaxPathBytes)
		c.addError("path", code.ValidatePath(e.Path))
	}
	c.checkTime("at", e.At)
}

// checker records the first rule that an event breaks.
type checker struct{ err error }

func (c *checker) addErrorf(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

func (c *checker) addError(field string, err error) {
	if err != nil {
		c.addErrorf("%s: %w", field, err)
	}
}

// checkText checks that s is UTF-8 without control characters, min to max bytes long.
func (c *checker) checkText(field, s string, min, max int) {
	if len(s) < min || len(s) > max {
		c.addErrorf("%s: %d bytes, want %d to %d", field, len(s), min, max)
		return
	}
	if !utf8.ValidString(s) {
		c.addErrorf("%s: %.80q is not UTF-8", field, s)
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			c.addErrorf("%s: %.80q holds a control character", field, s)
			return
		}
	}
}

func (c *checker) checkEqual(field, got, want string) {
	if got != want {
		c.addErrorf("%s: %.80q, want %q", field, got, want)
	}
}

// checkTime checks that t can be encoded in RFC 3339.
func (c *checker) checkTime(field string, t time.Time) {
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		c.addErrorf("%s: year %d, want 0 to 9999", field, y)
	}
}

func (c *checker) checkNotNegative(field string, n int64) {
	if n < 0 {
		c.addErrorf("%s: %d is negative", field, n)
	}
}

func (c *checker) checkRepositoryID(id code.RepositoryID) {
	if id == 0 || id > maxRepositoryID {
		c.addErrorf("repository: ID %d, want 1 to %d", id, maxRepositoryID)
	}
}

func (c *checker) checkRef(field string, r code.Ref) {
	c.addError(field, r.Validate())
	if !utf8.ValidString(string(r)) {
		c.addErrorf("%s: %.80q is not UTF-8", field, string(r))
	}
}

// checkCommit accepts the empty ID but not git's all-zero name.
func (c *checker) checkCommit(field string, id code.CommitID) {
	if id == "" {
		return
	}
	parsed, err := code.ParseCommitID(string(id))
	c.addError(field, err)
	if err == nil && parsed == "" {
		c.addErrorf("%s: all zeros, leave it empty for no commit", field)
	}
}

func (c *checker) checkPresentCommit(field string, id code.CommitID) {
	if id == "" {
		c.addErrorf("%s: want one", field)
	}
	c.checkCommit(field, id)
}

func (c *checker) checkBranch(field, short string) {
	if short != "" {
		c.checkRef(field, code.BranchRef(short))
	}
}

func (c *checker) checkLowerHex(field, s string, n int) {
	if len(s) != n || strings.Trim(s, "0123456789abcdef") != "" {
		c.addErrorf("%s: %.80q, want %d lower-case hexadecimal characters", field, s, n)
	}
}

func (c *checker) checkPush(e *Push) {
	c.checkRepositoryID(e.Repository)
	switch e.Action {
	case ActionCreated, ActionUpdated, ActionDeleted:
		c.checkRef("ref", e.Ref)
	case ActionRefresh:
		if e.Ref != "" {
			c.checkRef("ref", e.Ref)
		}
	default:
		c.addErrorf("action: %.80q is unknown", string(e.Action))
	}
	c.checkCommit("before", e.Before)
	c.checkCommit("after", e.After)
	if e.Forced != "" && e.Forced != "true" && e.Forced != "false" {
		c.addErrorf("forced: %.80q, want \"true\", \"false\" or nothing", e.Forced)
	}
	c.checkText("connection", e.Connection, 0, MaxConnectionBytes)
	c.checkText("deliveryId", e.DeliveryID, 0, MaxDeliveryIDBytes)
	c.checkText("pusher", e.Pusher, 0, MaxPusherBytes)
	if e.BodySHA256 != "" {
		c.checkLowerHex("bodySha256", e.BodySHA256, 64)
	}
	c.checkTime("receivedAt", e.ReceivedAt)
	c.checkTime("hostTime", e.HostTime)
}

func (c *checker) checkRepository(r *code.Repository) {
	c.checkRepositoryID(r.ID)
	if !r.Kind.Valid() {
		c.addErrorf("repository.kind: %.80q is unknown", string(r.Kind))
	}
	c.checkText("repository.name", r.Name, 1, code.MaxNameBytes)
	c.checkText("repository.displayName", r.DisplayName, 0, code.MaxNameBytes)
	c.checkCloneURL("repository.cloneUrl", r.CloneURL)
	c.checkText("repository.webUrl", r.WebURL, 0, code.MaxURLBytes)
	c.checkText("repository.imageUrl", r.ImageURL, 0, code.MaxURLBytes)
	c.checkText("repository.description", r.Description, 0, code.MaxDescriptionBytes)
	c.checkText("repository.connection", r.Connection, 0, MaxConnectionBytes)
	c.checkBranch("repository.defaultBranch", r.DefaultBranch)
	c.checkGlobs("repository.branches", r.Branches)
	c.checkGlobs("repository.tags", r.Tags)
}

func (c *checker) checkGlobs(field string, globs []string) {
	if len(globs) > code.MaxRefGlobs {
		c.addErrorf("%s: %d globs, at most %d", field, len(globs), code.MaxRefGlobs)
	}
	for _, glob := range globs {
		c.checkText(field, glob, 1, code.MaxRefGlobBytes)
	}
}

var errCredentials = errors.New("holds credentials; configure them on the connection instead")

// checkCloneURL rejects a URL with credentials. Its error does not repeat them. A user
// name alone is normal for ssh, but for HTTP it may be a token.
func (c *checker) checkCloneURL(field, s string) {
	c.checkText(field, s, 1, code.MaxURLBytes)
	scheme, _, found := strings.Cut(s, "://")
	if !found {
		return
	}
	u, err := url.Parse(s)
	if err != nil {
		c.addErrorf("%s: is no URL", field)
		return
	}
	if u.User == nil {
		return
	}
	_, hasPassword := u.User.Password()
	if hasPassword || strings.HasPrefix(strings.ToLower(scheme), "http") {
		c.addError(field, errCredentials)
	}
}

func (c *checker) checkRevisionIndexed(e *RevisionIndexed) {
	c.checkRepositoryID(e.Repository)
	c.checkRef("ref", e.Ref)
	c.checkCommit("commit", e.Commit)
	c.checkTime("commitTime", e.CommitTime)
	c.checkBranch("defaultBranch", e.DefaultBranch)
	if (e.BaseRef == "") != (e.BaseCommit == "") {
		c.addErrorf("baseRef and baseCommit: want both or neither")
	}
	if e.BaseRef != "" {
		c.checkRef("baseRef", e.BaseRef)
	}
	c.checkCommit("baseCommit", e.BaseCommit)
	if len(e.Segments) > MaxSegments {
		c.addErrorf("segments: %d, at most %d", len(e.Segments), MaxSegments)
	}
	for i := range e.Segments {
		c.checkSegment("segments", &e.Segments[i])
	}
	c.checkChanges(e)
	c.checkPosition("cause", e.Cause)
	c.checkTime("pushedAt", e.PushedAt)
	c.checkTime("indexedAt", e.IndexedAt)
}

func (c *checker) checkChanges(e *RevisionIndexed) {
	if e.ChangesObject != "" {
		c.checkObjectName("changesObject", e.ChangesObject)
		if len(e.Changes) > 0 {
			c.addErrorf("changes and changesObject: want one of them")
		}
	}
	if len(e.Changes) > MaxInlineChanges {
		c.addErrorf("changes: %d, at most %d", len(e.Changes), MaxInlineChanges)
		return
	}
	for i := range e.Changes {
		change := &e.Changes[i]
		c.addError("changes", code.ValidatePath(change.Path))
		if i > 0 && e.Changes[i-1].Path >= change.Path {
			c.addErrorf("changes: path %.80q is not after its predecessor", change.Path)
		}
		c.checkText("changes.language", string(change.Language), 0, MaxLanguageBytes)
		c.checkText("changes.skipped", string(change.Skipped), 0, MaxSkipBytes)
		c.checkNotNegative("changes.sizeBytes", change.SizeBytes)
	}
}

// checkObjectName prevents a name from leading out of the segment store's directory.
func (c *checker) checkObjectName(field, s string) {
	c.checkText(field, s, 1, MaxObjectNameBytes)
	c.addError(field, code.ValidatePath(s))
	if strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-/") != "" {
		c.addErrorf("%s: %.80q, want letters, digits, '.', '_', '-' and '/'", field, s)
	}
}

func (c *checker) checkSegment(field string, s *SegmentRef) {
	c.checkLowerHex(field+".id", s.ID, 32)
	c.checkNotNegative(field+".sizeBytes", s.SizeBytes)
	c.checkNotNegative(field+".textBytes", s.TextBytes)
	c.checkNotNegative(field+".documents", int64(s.Documents))
}

func (c *checker) checkPosition(field string, p Position) {
	c.checkText(field+".topic", string(p.Topic), 1, MaxTopicBytes)
	c.checkNotNegative(field+".partition", int64(p.Partition))
	c.checkNotNegative(field+".offset", int64(p.Offset))
}

func (c *checker) checkSegmentsMerged(e *SegmentsMerged) {
	c.checkNotNegative("partition", int64(e.Partition))
	if len(e.Inputs) == 0 || len(e.Inputs) > MaxSegments {
		c.addErrorf("inputs: %d segments, want 1 to %d", len(e.Inputs), MaxSegments)
	}
	for _, id := range e.Inputs {
		c.checkLowerHex("inputs", id, 32)
	}
	if e.Output != nil {
		c.checkSegment("output", e.Output)
	}
	if len(e.Outputs) > MaxOutputs {
		c.addErrorf("outputs: %d segments, at most %d", len(e.Outputs), MaxOutputs)
	}
	for i := range e.Outputs {
		o := &e.Outputs[i]
		c.checkSegment("outputs", &o.Segment)
		if len(o.Origins) == 0 || len(o.Origins) > MaxOrigins {
			c.addErrorf("outputs: %d origins, want 1 to %d", len(o.Origins), MaxOrigins)
		}
		for _, id := range o.Origins {
			c.checkRepositoryID(id)
		}
	}
	c.checkTime("at", e.At)
}
