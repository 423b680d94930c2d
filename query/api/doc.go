// Package api serves the public JSON API and the small administration API.
//
// It answers the question "which request gets which answer?". The interface is
// described in schemas/openapi/quarry.yaml, which this package serves, and for
// people in docs/api.md. Routes are in routes.go, one file per resource:
//
//	search.go     POST /api/search
//	stream.go     POST /api/stream_search
//	find.go       POST /api/find_definitions, /api/find_references
//	events.go     GET /api/events
//	repos.go      GET /api/repos
//	register.go   POST /api/repos, DELETE /api/repos/{repoId}, POST …/refresh
//	status.go     GET /api/repos/{repoId}/status, …/skipped
//	deliveries.go GET /api/deliveries, …/{deliveryKey}, POST …/redeliver
//	replays.go    GET, POST /api/replays, DELETE …/{replayId}, POST …/rollback
//	backups.go    POST /api/backups, …/{backupId}/renew, DELETE …/{backupId}
//	source.go     GET /api/source, /api/folder_contents; POST /api/tree, /api/files
//	commits.go    GET /api/commits, /api/commit, /api/commits/authors
//	diff.go       GET /api/diff
//	blame.go      GET /api/blame
//	deadletters.go GET, DELETE /api/deadletters, …/{partition}/{offset}, POST …/replay
//	system.go     GET /api/models, /api/version, /api/health, /healthz, /readyz, /api/openapi.json
//
// IDs become the numbers that the API shows, and numbers IDs, in numbers.go.
//
// The layers before a handler are package front's; form.go checks a request by the
// document between them and the handler.
//
// # Main types
//
//	Server   an http.Handler for all of them
//	Options  what it needs: Searcher and Views for answers, Catalog and Status
//	         for repositories, Registrar for changes, Deliveries and DeadLetters
//	         for what became of pushes,
//	         Source for files and history, Gate to authenticate callers, Auditor
//	         to record what they did
//
// # Invariants
//
//  1. Every answer that is not of the 200 family is an error object
//     {statusCode, errorCode, message}; the one table is in errors.go.
//  2. A view is released when its answer has been written, whatever happened.
//  3. Nothing in a request makes the server take unbounded time or memory: body,
//     query, matches, context and time have bounds, named in options.go.
//  4. Every route has an access rule; without one the server does not start. A
//     request that cannot be recorded in the audit log gets no data.
//  5. No ID of a repository or connection leaves but as a number, and nothing without
//     a number is shown: members of answers have the type code.RepositoryNumber.
//  6. Absent optional values are left out of JSON; times are UTC with
//     milliseconds.
//
// A Server is safe for concurrent use and starts no goroutine. It decides
// nothing about matching or ranking, and does not know the log.
package api
