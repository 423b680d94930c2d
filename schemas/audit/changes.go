package audit

// Actions that change accounts. Their entries are the events of event.TopicAccounts
// themselves; no Record is written for these actions.
const (
	OwnerCreated         Action = "user.owner_created" // the first owner
	MemberAdded          Action = "org.member_added"
	JoinRequested        Action = "user.join_requested"
	JoinApproved         Action = "user.join_request_approved"
	InviteAccepted       Action = "user.invite_accepted"
	InvitesCreated       Action = "user.invites_created"
	InviteRevoked        Action = "user.invite_revoked"
	MemberRemoved        Action = "org.member_removed"
	MemberLeft           Action = "org.member_left"
	MemberDeactivated    Action = "org.member_deactivated"
	MemberReactivated    Action = "org.member_reactivated"
	MemberPromoted       Action = "org.member_promoted_to_owner"
	OwnerDemoted         Action = "org.owner_demoted_to_member"
	UserRenamed          Action = "user.renamed"
	UserPasswordChanged  Action = "user.password_changed"
	UserPasswordRehashed Action = "user.password_rehashed"
	UserIdentityLinked   Action = "user.identity_linked"
	SignedIn             Action = "user.signed_in"
	SessionRotated       Action = "user.session_rotated"
	SignedOut            Action = "user.signed_out"
	KeyCreated           Action = "api_key.created"
	KeyDeleted           Action = "api_key.deleted"
	TokenMinted          Action = "scoped_access_token.created"
	TokenRevoked         Action = "scoped_access_token.revoked"
	AccessChanged        Action = "repo.access_changed"
	SavedSearchCreated   Action = "saved_search.created"
	SavedSearchChanged   Action = "saved_search.changed"
	SavedSearchDeleted   Action = "saved_search.deleted"
)

// Actions on the audit log, and problems that it records about itself.
const (
	VerifiedAudit Action = "audit.verify"
	RecordsLost   Action = "audit.records_lost"   // metadata: count, from, until
	RecordInvalid Action = "audit.record_invalid" // metadata: reason, action, actor
)

// Actions lists all actions.
var Actions = []Action{
	Searched, FoundDefinitions, FoundReferences, ListedRepositories, ListedConnections, ReadRepository, FetchedSource, FetchedBlame,
	FetchedTree, FetchedDiff, ListedCommits, FetchedCommit, ListedAuthors, ReadUser, ListedUsers, ListedKeys, FetchedAudit, ReadOperations,
	StartedMCPSession, CalledTool,
	RegisteredRepository, RemovedRepository, ChangedRepository, ErasedRepository, UploadedScip, DeletedScip, ReindexedRepository, ChangedOperations, CheckedRegistration, CheckedConnection, CreatedReset, SignInFailed, CredentialRefused, RequestDenied, RateLimited,
	OwnerCreated, MemberAdded, JoinRequested, JoinApproved, InviteAccepted, InvitesCreated, InviteRevoked, MemberRemoved, MemberLeft,
	MemberDeactivated, MemberReactivated, MemberPromoted, OwnerDemoted, UserRenamed, UserPasswordChanged, UserPasswordRehashed, UserIdentityLinked,
	SignedIn, SessionRotated, SignedOut, KeyCreated, KeyDeleted, TokenMinted, TokenRevoked, AccessChanged,
	SavedSearchCreated, SavedSearchChanged, SavedSearchDeleted,
	VerifiedAudit, RecordsLost, RecordInvalid,
}

var known = func() map[Action]bool {
	m := make(map[Action]bool, len(Actions))
	for _, a := range Actions {
		m[a] = true
	}
	return m
}()

// Known reports whether a is one of Actions.
func (a Action) Known() bool { return known[a] }
