package audit

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
)

// Action names an action, as kind.verb_object.
type Action string

// Actions that read.
const (
	Searched           Action = "user.performed_code_search"
	FoundDefinitions   Action = "user.performed_goto_definition"
	FoundReferences    Action = "user.performed_find_references"
	ListedRepositories Action = "user.listed_repos"
	ListedConnections  Action = "user.listed_connections"
	ReadRepository     Action = "user.read_repo"
	FetchedSource      Action = "user.fetched_file_source"
	FetchedBlame       Action = "user.fetched_file_blame"
	FetchedTree        Action = "user.fetched_file_tree"
	FetchedDiff        Action = "user.fetched_diff"
	ListedCommits      Action = "user.listed_commits"
	FetchedCommit      Action = "user.fetched_commit"
	ListedAuthors      Action = "user.listed_commit_authors"
	ReadUser           Action = "user.read"
	ListedUsers        Action = "user.list"
	ListedKeys         Action = "api_key.list"
	FetchedAudit       Action = "audit.fetch"
	ReadOperations     Action = "operations.read" // deliveries, dead letters, replays, events
	StartedMCPSession  Action = "mcp.session_started"
	CalledTool         Action = "mcp.tool_called"
)

// Actions that change things other than accounts, and failures.
const (
	RegisteredRepository Action = "repo.registered"
	RemovedRepository    Action = "repo.removed"
	ChangedRepository    Action = "repo.changed"       // metadata: private, name, cloneUrl, formerCloneUrl
	ErasedRepository     Action = "repo.erased"        // metadata: commit or path, unless the whole repository was erased
	UploadedScip         Action = "repo.scip_uploaded" // metadata: commit, path
	DeletedScip          Action = "repo.scip_deleted"  // metadata: upload, commit, path
	ReindexedRepository  Action = "repo.reindex_requested"
	ChangedOperations    Action = "operations.changed"
	CheckedRegistration  Action = "repo.registration_checked"     // metadata: repository
	CheckedConnection    Action = "operations.connection_checked" // metadata: kind, host
	CreatedReset         Action = "user.password_reset_created"
	SignInFailed         Action = "user.sign_in_failed"
	CredentialRefused    Action = "credential.refused"
	RequestDenied        Action = "request.denied"
	RateLimited          Action = "request.rate_limited"
)

// TargetType is the type of the thing that Record.Target names.
type TargetType string

// The kinds of targets.
const (
	TargetInstance   TargetType = "org"
	TargetUser       TargetType = "user"
	TargetRepository TargetType = "repo"
	TargetFile       TargetType = "file"
	TargetKey        TargetType = "api_key"
	TargetToken      TargetType = "token"
	TargetSession    TargetType = "session"
	TargetInvitation TargetType = "invite"
	TargetTool       TargetType = "tool"
	TargetOperation  TargetType = "operation"
)

// Bounds of a Record. Longer text is truncated.
const (
	MaxTargetBytes   = 1024
	MaxMetadata      = 16
	MaxMetadataBytes = 512 // of a value
)

// Record is one entry.
type Record struct {
	At     time.Time     `json:"at"`
	Action Action        `json:"action"`
	Actor  account.Actor `json:"actor"`
	// Target names the thing that was read or changed: a repository's full name,
	// "repository:path" for a file, or an ID; empty for the instance.
	TargetType TargetType `json:"targetType"`
	Target     string     `json:"target,omitempty"`
	// RequestID is the X-Request-Id of the response, Status its HTTP status.
	RequestID string `json:"requestId,omitempty"`
	Status    int    `json:"status,omitempty"`
	// Metadata holds more details, such as the query of a search.
	Metadata map[string]string `json:"metadata,omitempty"`
}
