// Package e2e runs the built binary as people do: serve, index, push, search, kill, start
// again.
//
// It answers the question "does everything work together?". It contains only tests.
//
//	script_test.go     runs testdata/*.txtar, once on the embedded log and, where
//	                   a Kafka broker can be started, once on that
//	crash_test.go      kill -9 twenty times while pushes arrive, then compares the
//	                   projections with a rebuild from the log
//	alerts_test.go     evaluates alerts on scrapes with promtool;
//	                   alertfaults_linux_test.go has a fault for each alert
//	damage_test.go     one bit flipped in each kind of file of a data directory
//	snapshots_test.go  query nodes that start from snapshots in a bucket, and its faults
//	releasebefore_test.go  a cluster goes from the program of an earlier commit to this one
//	gerrit_test.go     a real Gerrit: discovery, fetch, streamed events
//	gitea_test.go      the life of an organization, on a stub and on a live Gitea
//	scip_test.go       indexes of real indexers, compared with the results
//	scipupload_test.go kill -9 during an upload of an index; one of two gigabytes
//	cli_test.go        quarry index while the server is stopped and started; signals
//	commands_test.go   the commands of scripts: serve, stop, push, await, http
//
// # Commands of a script
//
//	serve [ARG...]            start quarry serve on $WORK/data, wait until ready; sets $URL
//	terminate                 SIGTERM; the exit code must be 0. Not named "stop", which ends
//	                          a script in testscript
//	crash                     SIGKILL. Not named "kill", which testscript defines too
//	commit REPO FILE [TEXT]   write (or, without TEXT, remove) FILE in the work tree REPO and commit
//	push REPO REF [BEFORE]    deliver a signed webhook for REF of REPO, want 202
//	await N QUERY...          poll until quarry search finds N matches (0: none)
//	http STATUS METHOD PATH [FILE]   send a request, want STATUS; the response is stdout
//	hook STATUS PATH FILE [HEADER=VALUE...]   deliver a body unchanged
//	host ORG/NAME...          start a code host with these repositories; sets $HOST, $PUSH_HOST, $TOKEN
//	expand FROM TO            copy a file and replace the variables of the script in it
//	reload                    SIGHUP
//
// # Invariants
//
//  1. Tests do not wait by the clock: they poll until a state has come about. The bound
//     only ends a hang. A fault that must last for a minute moves the server's clock.
//  2. Every process that a test starts has ended when the test ends.
//  3. Servers listen on loopback, on a port that the system chooses.
//  4. All tests run in parallel, more of them than there are processors, because most of
//     them wait. A test does not change the environment or the umask of this process.
package e2e
