// Package api serves the public JSON API and the small administration API.
//
// It answers the question "which request gets which response?". The interface is
// described in schemas/openapi/quarry.yaml, which this package serves, and for people in
// docs/api.md. Routes are in routes.go, handlers in one file per resource:
//
//	search.go     POST /api/search
//	stream.go     POST /api/stream_search
//	find.go       POST /api/find_definitions, /api/find_references
//	events.go     GET /api/events
//	repos.go      GET /api/repos
//	register.go   POST /api/repos, DELETE /api/repos/{repoId}, POST …/refresh
//	rename.go     PATCH /api/repos/{repoId}
//	status.go     GET /api/repos/{repoId}/status, …/skipped
//	deliveries.go GET /api/deliveries, …/{deliveryKey}, POST …/redeliver
//	snapshots.go  GET, POST /api/snapshots, DELETE …/{snapshotName}
//	replays.go    GET, POST /api/replays, DELETE …/{replayId}, POST …/rollback
//	backups.go    POST /api/backups, …/{backupId}/renew, DELETE …/{backupId}
//	source.go     GET /api/source, /api/folder_contents; POST /api/tree, /api/files
//	commits.go    GET /api/commits, /api/commit, /api/commits/authors
//	diff.go       GET /api/diff
//	blame.go      GET /api/blame
//	deadletters.go GET, DELETE /api/deadletters, …/{partition}/{offset}, POST …/replay
//	system.go     GET /api/models, /api/version, /api/health, /healthz, /readyz, /api/openapi.json
//
// numbers.go converts between IDs and the numbers that the API shows.
//
// The layers before a handler are in package front; between them and the handler, form.go
// checks a request against the document.
//
// # Main types
//
//	Server   an http.Handler for all routes
//	Options  its dependencies: Searcher and Views for results, Catalog and Status
//	         for repositories, Registrar for changes, Deliveries and DeadLetters
//	         for the outcomes of pushes, Source for files and history, Gate to
//	         authenticate callers, Auditor to record requests
//
// # Invariants
//
//  1. Every response outside the 2xx range is an error object {statusCode,
//     errorCode, message}; errors.go has the only table of errors.
//  2. A view is released when its response has been written, even after a failure.
//  3. No request takes unbounded time or memory: bodies, queries, matches, context and
//     time have bounds, named in options.go.
//  4. Every route has an access rule; without one the server does not start. A
//     request that cannot be recorded in the audit log gets no data.
//  5. IDs of repositories and connections leave the server only as numbers, and
//     nothing without a number is shown: fields have the type code.RepositoryNumber.
//  6. Absent optional values are omitted from JSON; times are UTC with milliseconds.
//
// A Server is safe for concurrent use and starts no goroutine. It makes no decisions
// about matching or ranking, and does not depend on the log.
package api
