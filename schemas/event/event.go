package event

import (
	"slices"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Type is the CloudEvents type of an event, version included.
type Type string

// TypePrefix begins the type of every event of Quarry, in this version and later ones.
const TypePrefix = "dev.quarry."

// The events of the system.
const (
	TypePush                 Type = "dev.quarry.push.v1"
	TypeRepositoryRegistered Type = "dev.quarry.repository.registered.v1"
	TypeRepositoryChanged    Type = "dev.quarry.repository.changed.v1"
	TypeRepositoryRemoved    Type = "dev.quarry.repository.removed.v1"
	TypeRevisionIndexed      Type = "dev.quarry.revision.indexed.v1"
	TypeSegmentsMerged       Type = "dev.quarry.segments.merged.v1"
	TypeDelivery             Type = "dev.quarry.delivery.v1"
	TypePushesHandled        Type = "dev.quarry.pushes.handled.v1"
	TypeErasureRequested     Type = "dev.quarry.erasure.requested.v1"
)

// Event is one of the structs of this package.
type Event interface {
	// EventType returns the type and version of the encoded event.
	EventType() Type
	// Key returns the repository that orders the event, or 0 for an event of a
	// whole partition.
	Key() code.RepositoryID
}

// Action is the kind of change of a ref.
type Action string

// The kinds of changes of a ref.
const (
	ActionCreated Action = "created"
	// ActionUpdated without Before and After requests a look at the ref: it is indexed with
	// what changed since it was last announced, if anything did.
	ActionUpdated Action = "updated"
	ActionDeleted Action = "deleted"
	// ActionRefresh of a ref requests that it is announced again in full, because a reader
	// may lack what was announced before. Without a ref, it requests a look at all refs.
	ActionRefresh Action = "refresh"
)

// RepairSource is the CloudEvents source of pushes with ActionRefresh that replace lost
// events. They may refer to whole repositories.
const RepairSource = "/quarry/repair"

// Push reports that a ref moved, or may have moved. It is a hint with provenance: the
// worker fetches the ref, and the fetched state takes precedence over the event.
type Push struct {
	Repository code.RepositoryID `json:"repository"`
	// Ref is empty for ActionRefresh of all refs.
	Ref    code.Ref      `json:"ref,omitempty"`
	Before code.CommitID `json:"before,omitempty"`
	After  code.CommitID `json:"after,omitempty"`
	Action Action        `json:"action"`
	// Forced is "true", "false" or, if the host does not report it, empty.
	Forced string `json:"forced,omitempty"`
	// Connection and DeliveryID name the delivery; BodySHA256 is the hash of its
	// raw body in hexadecimal.
	Connection string `json:"connection,omitempty"`
	DeliveryID string `json:"deliveryId,omitempty"`
	BodySHA256 string `json:"bodySha256,omitempty"`
	// ReceivedAt is the time when Quarry received the push, HostTime the time that the
	// host reports (zero if it reports none).
	ReceivedAt time.Time `json:"receivedAt"`
	HostTime   time.Time `json:"hostTime,omitzero"`
	Pusher     string    `json:"pusher,omitempty"`
	// Private means that the delivery says that the repository is private. The repository
	// then becomes private with this event, if it belongs to Connection or to none.
	Private bool `json:"private,omitempty"`
}

// RepositoryRegistered registers a repository, or registers it again with other values.
// It triggers the first import.
type RepositoryRegistered struct {
	Repository code.Repository `json:"repository"`
	// PrivateMark is as in RepositoryChanged.
	PrivateMark *Offset   `json:"privateMark,omitempty"`
	At          time.Time `json:"at"`
}

// RepositoryChanged replaces the description of a registered repository after a rename, a
// change of the default branch, or archiving. It carries the complete new state.
type RepositoryChanged struct {
	Repository code.Repository `json:"repository"`
	// PrivateMark is the private mark of the repository that the writer saw before it read
	// the description: 1 + the offset of the last event that said that the repository is
	// private, or 0. If the mark has changed since, the event leaves a private repository
	// private, because the description may be older. Nil means that it may not be.
	PrivateMark *Offset   `json:"privateMark,omitempty"`
	At          time.Time `json:"at"`
}

// RepositoryRemoved removes a repository and everything indexed from it.
type RepositoryRemoved struct {
	Repository code.RepositoryID `json:"repository"`
	Reason     string            `json:"reason,omitempty"`
	// Erase requests the immediate removal of the text from the disk.
	Erase bool      `json:"erase,omitempty"`
	At    time.Time `json:"at"`
}

// ErasureRequested requests the removal of unreachable text from the disk: the text of a
// commit, or every version of a path. Either Commit or Path is set.
type ErasureRequested struct {
	Repository code.RepositoryID `json:"repository"`
	Commit     code.CommitID     `json:"commit,omitempty"`
	// Path is a file, or a directory with everything below it.
	Path string    `json:"path,omitempty"`
	At   time.Time `json:"at"`
}

// SegmentRef names a segment in the segment store.
type SegmentRef struct {
	// ID is the segment's ID, 32 hexadecimal characters. It is derived from the segment's
	// content and serves as its name in the segment store.
	ID        string `json:"id"`
	SizeBytes int64  `json:"sizeBytes"`
	TextBytes int64  `json:"textBytes"`
	Documents int    `json:"documents"`
}

// Change is one changed row of a manifest.
type Change struct {
	Path string `json:"path"`
	// Blob is the file's content. The zero BlobID removes the path, unless Skipped names
	// the reason why the file is known but not searchable.
	Blob     code.BlobID     `json:"blob,omitzero"`
	Language code.Language   `json:"language,omitempty"`
	Flags    code.Flags      `json:"flags,omitempty"`
	Skipped  code.SkipReason `json:"skipped,omitempty"`
	// SizeBytes is the size of the blob in git.
	SizeBytes int64 `json:"sizeBytes,omitempty"`
}

// MaxInlineChanges bounds the changes within an event. Longer lists are stored in the
// segment store as a manifest object, which ChangesObject names.
const MaxInlineChanges = 1000

// RevisionIndexed announces that these segments and this change of the ref's manifest
// describe a commit of a ref: readers may switch to it.
type RevisionIndexed struct {
	Repository code.RepositoryID `json:"repository"`
	Ref        code.Ref          `json:"ref"`
	// Commit is the commit that the ref points to now; empty if the ref was deleted.
	Commit code.CommitID `json:"commit,omitempty"`
	// CommitTime is the committer's time of Commit.
	CommitTime time.Time `json:"commitTime,omitzero"`
	// DefaultBranch is the short name of the repository's default branch according to the
	// mirror's HEAD; empty if unknown.
	DefaultBranch string `json:"defaultBranch,omitempty"`
	// BaseRef and BaseCommit name the revision that the changes are relative to: the
	// previous commit of the ref, or the revision from which a new ref was derived. If
	// both are empty, the changes are the whole manifest.
	BaseRef    code.Ref      `json:"baseRef,omitempty"`
	BaseCommit code.CommitID `json:"baseCommit,omitempty"`
	// Segments hold the documents that no earlier segment was known to hold.
	Segments []SegmentRef `json:"segments,omitempty"`
	// Changes are ordered by path. If empty and ChangesObject is set, they are in the
	// segment store under that name, in the same order.
	Changes       []Change `json:"changes,omitempty"`
	ChangesObject string   `json:"changesObject,omitempty"`
	// Cause is the position of the event that led to this one, and the origin of this
	// event's ID. If several pushes of the ref waited together, it is the last.
	Cause Position `json:"cause"`
	// PushedAt is the time when the first push that led to this event was received.
	// Freshness is measured from then on.
	PushedAt time.Time `json:"pushedAt"`
	// IndexedAt is the time when the worker finished.
	IndexedAt time.Time `json:"indexedAt"`
}

// SegmentsMerged replaces segments of one partition with one, or several, that contain the
// same live documents.
type SegmentsMerged struct {
	Partition int32 `json:"partition"`
	// Inputs are the IDs of the replaced segments.
	Inputs []string `json:"inputs"`
	// Output contains every document of the inputs that was live at the positions up to
	// which the compactor had read; absent if none was.
	Output *SegmentRef `json:"output,omitempty"`
	// Outputs are further outputs, of a merge that divides documents by who may read them.
	// At most MaxOutputs.
	Outputs []MergeOutput `json:"outputs,omitempty"`
	At      time.Time     `json:"at"`
}

// MergeOutput is one of several outputs of a merge.
type MergeOutput struct {
	Segment SegmentRef `json:"segment"`
	// Origins are repositories such that a caller who may read all of them may read every
	// document of the segment. 1 to MaxOrigins.
	Origins []code.RepositoryID `json:"origins"`
}

// AllOutputs returns the segments that a merge adds.
func (e *SegmentsMerged) AllOutputs() []SegmentRef {
	var all []SegmentRef
	if e.Output != nil {
		all = append(all, *e.Output)
	}
	for i := range e.Outputs {
		all = append(all, e.Outputs[i].Segment)
	}
	return all
}

// Adds reports whether a segment is an output of the merge.
func (e *SegmentsMerged) Adds(id string) bool {
	return slices.ContainsFunc(e.AllOutputs(), func(s SegmentRef) bool { return s.ID == id })
}

// EventType implements Event.
func (*Push) EventType() Type                 { return TypePush }
func (*RepositoryRegistered) EventType() Type { return TypeRepositoryRegistered }
func (*RepositoryChanged) EventType() Type    { return TypeRepositoryChanged }
func (*RepositoryRemoved) EventType() Type    { return TypeRepositoryRemoved }
func (*RevisionIndexed) EventType() Type      { return TypeRevisionIndexed }
func (*SegmentsMerged) EventType() Type       { return TypeSegmentsMerged }
func (*ErasureRequested) EventType() Type     { return TypeErasureRequested }

// Key implements Event.
func (e *Push) Key() code.RepositoryID                 { return e.Repository }
func (e *RepositoryRegistered) Key() code.RepositoryID { return e.Repository.ID }
func (e *RepositoryChanged) Key() code.RepositoryID    { return e.Repository.ID }
func (e *RepositoryRemoved) Key() code.RepositoryID    { return e.Repository }
func (e *RevisionIndexed) Key() code.RepositoryID      { return e.Repository }
func (e *SegmentsMerged) Key() code.RepositoryID       { return 0 }
func (e *ErasureRequested) Key() code.RepositoryID     { return e.Repository }
