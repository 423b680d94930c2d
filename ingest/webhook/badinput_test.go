package webhook_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/azuredevops"
	"github.com/quarrysearch/quarry/ingest/bitbucketcloud"
	"github.com/quarrysearch/quarry/ingest/bitbucketserver"
	"github.com/quarrysearch/quarry/ingest/generic"
	"github.com/quarrysearch/quarry/ingest/gerrit"
	"github.com/quarrysearch/quarry/ingest/gitea"
	"github.com/quarrysearch/quarry/ingest/github"
	"github.com/quarrysearch/quarry/ingest/gitlab"
	"github.com/quarrysearch/quarry/ingest/ingesttest"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/ingest/webhook"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Hashes in payloads.
const (
	oldHash  = "1111111111111111111111111111111111111111"
	newHash  = "2222222222222222222222222222222222222222"
	zeroHash = "0000000000000000000000000000000000000000"
)

// badInput describes one kind of host: how it sends deliveries, and what may be wrong
// with them.
type badInput struct {
	kind   code.HostKind
	open   ingest.Open
	url    string // the connection's
	secret string
	// header names the header with the event.
	header http.Header
	// sign authenticates a delivery.
	sign func(r *http.Request, body []byte)
	// credential is the header that sign sets; short, malformed and algorithm are values
	// that must be rejected. Gerrit's token is in the URL.
	credential                  string
	short, malformed, algorithm string
	// payload returns a payload of n refs that moved between two hashes, each a JSON
	// value.
	payload func(n int, before, after string) string
	// batch is set if one delivery may contain several refs. Other hosts send several
	// commits of one ref.
	batch bool
	// withoutSubject lacks the subject of the event; wrongType has a value of the wrong
	// type where the event or the ref is named.
	withoutSubject, wrongType string
	// nullHashes is the status for a ref without hashes, noRefs for a payload without
	// refs. From a generic sender they request a lookup; other hosts send no list of
	// refs.
	nullHashes, noRefs int
}

// repeatObject joins n objects formatted with a number.
func repeatObject(n int, format func(i int) string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = format(i)
	}
	return "[" + strings.Join(out, ",") + "]"
}

func commitList(n int) string {
	return repeatObject(n, func(i int) string { return fmt.Sprintf(`{"id":"%040x","modified":["a.go"]}`, i+1) })
}

// signHMAC returns a sign function that sets a header to the HMAC of the body.
func signHMAC(header, prefix, secret string) func(*http.Request, []byte) {
	return func(r *http.Request, body []byte) {
		r.Header.Set(header, ingesttest.SignHMAC(prefix, body, []byte(secret)))
	}
}

// sha1Signature is valid but uses an algorithm that is not accepted.
func sha1Signature(secret, body string) string {
	mac := hmac.New(sha1.New, []byte(secret))
	_, _ = mac.Write([]byte(body))
	return "sha1=" + hex.EncodeToString(mac.Sum(nil))
}

// badInputs covers every kind of host.
func badInputs() []badInput {
	notHex := strings.Repeat("zz", 32)
	return []badInput{
		{
			kind: code.GitHub, open: github.Open, secret: "s3cret", header: http.Header{"X-Github-Event": {"push"}},
			sign: signHMAC("X-Hub-Signature-256", "sha256=", "s3cret"), credential: "X-Hub-Signature-256", short: "sha", malformed: "sha256=" + notHex,
			payload: func(n int, before, after string) string {
				return fmt.Sprintf(`{"ref":"refs/heads/main","before":%s,"after":%s,"commits":%s,"repository":{"id":9,"full_name":"o/r","clone_url":"https://github.com/o/r.git"}}`, before, after, commitList(n))
			},
			withoutSubject: `{"ref":"refs/heads/main","before":"` + oldHash + `","after":"` + newHash + `"}`, wrongType: `{"ref":{"name":"refs/heads/main"}}`, nullHashes: 400, noRefs: 202,
		},
		{
			kind: code.GitLab, open: gitlab.Open, secret: "s3cret", header: http.Header{"X-Gitlab-Event": {"System Hook"}},
			sign: func(r *http.Request, _ []byte) { r.Header.Set("X-Gitlab-Token", "s3cret") }, credential: "X-Gitlab-Token", short: "s3c", malformed: "\x80", algorithm: ingesttest.SignHMAC("sha256=", nil, []byte("s3cret")),
			payload: func(n int, before, after string) string {
				changes := repeatObject(n, func(i int) string {
					return fmt.Sprintf(`{"ref":"refs/heads/b%d","before":%s,"after":%s}`, i, before, after)
				})
				return fmt.Sprintf(`{"event_name":"repository_update","project_id":9,"project":{"path_with_namespace":"o/r","git_http_url":"https://gitlab.com/o/r.git"},"changes":%s}`, changes)
			},
			batch: true, withoutSubject: `{"event_name":"push","ref":"refs/heads/main","before":"` + oldHash + `","after":"` + newHash + `"}`, wrongType: `{"event_name":["push"]}`, nullHashes: 400, noRefs: 400,
		},
		{
			kind: code.Gitea, open: gitea.Open, secret: "s3cret", header: http.Header{"X-Gitea-Event": {"push"}},
			sign: signHMAC("X-Gitea-Signature", "", "s3cret"), credential: "X-Gitea-Signature", short: "0", malformed: notHex,
			payload: func(n int, before, after string) string {
				return fmt.Sprintf(`{"ref":"refs/heads/main","before":%s,"after":%s,"commits":%s,"repository":{"id":9,"full_name":"o/r","clone_url":"https://gitea.com/o/r.git"}}`, before, after, commitList(n))
			},
			withoutSubject: `{"ref":"refs/heads/main","before":"` + oldHash + `","after":"` + newHash + `"}`, wrongType: `{"ref":7}`, nullHashes: 400, noRefs: 202,
		},
		{
			kind: code.Gerrit, open: gerrit.Open, url: "https://review.example.org", secret: "s3cret",
			sign:  func(r *http.Request, _ []byte) { r.URL.RawQuery = "token=s3cret" },
			short: "s3c", malformed: "%zz", algorithm: ingesttest.SignHMAC("sha256=", nil, []byte("s3cret")),
			payload: func(n int, before, after string) string {
				updates := repeatObject(n, func(i int) string {
					return fmt.Sprintf(`{"refName":"refs/heads/b%d","oldRev":%s,"newRev":%s,"project":"o/r"}`, i, before, after)
				})
				return fmt.Sprintf(`{"type":"batch-ref-updated","refUpdates":%s}`, updates)
			},
			batch: true, withoutSubject: `{"type":"ref-updated"}`, wrongType: `{"type":{"name":"ref-updated"}}`, nullHashes: 400, noRefs: 400,
		},
		{
			kind: code.BitbucketServer, open: bitbucketserver.Open, url: "https://bitbucket.example.org", secret: "s3cret", header: http.Header{"X-Event-Key": {"repo:refs_changed"}},
			sign: signHMAC("X-Hub-Signature", "sha256=", "s3cret"), credential: "X-Hub-Signature", short: "sha256", malformed: "sha256=" + notHex,
			payload: func(n int, before, after string) string {
				changes := repeatObject(n, func(i int) string {
					return fmt.Sprintf(`{"ref":{"id":"refs/heads/b%d"},"fromHash":%s,"toHash":%s,"type":"UPDATE"}`, i, before, after)
				})
				return fmt.Sprintf(`{"eventKey":"repo:refs_changed","repository":{"id":9,"slug":"r","project":{"key":"O"}},"changes":%s}`, changes)
			},
			batch: true, withoutSubject: `{"eventKey":"repo:refs_changed","changes":[]}`, wrongType: `{"changes":{"ref":7}}`, nullHashes: 400, noRefs: 400,
		},
		{
			kind: code.BitbucketCloud, open: bitbucketcloud.Open, secret: "s3cret", header: http.Header{"X-Event-Key": {"repo:push"}},
			sign: signHMAC("X-Hub-Signature", "sha256=", "s3cret"), credential: "X-Hub-Signature", short: "sha256=", malformed: "sha256=" + notHex,
			payload: func(n int, before, after string) string {
				changes := repeatObject(n, func(i int) string {
					side := func(hash string) string {
						if hash == "null" {
							return "null"
						}
						return fmt.Sprintf(`{"type":"branch","name":"b%d","target":{"hash":%s}}`, i, hash)
					}
					return fmt.Sprintf(`{"old":%s,"new":%s}`, side(before), side(after))
				})
				return fmt.Sprintf(`{"repository":{"uuid":"{9}","full_name":"o/r"},"push":{"changes":%s}}`, changes)
			},
			batch: true, withoutSubject: `{"push":{"changes":[]}}`, wrongType: `{"push":[7]}`, nullHashes: 400, noRefs: 400,
		},
		{
			kind: code.AzureDevOps, open: azuredevops.Open, secret: "quarry:s3cret",
			sign: func(r *http.Request, _ []byte) { r.SetBasicAuth("quarry", "s3cret") }, credential: "Authorization", short: "Ba", malformed: "Basic %%%", algorithm: "Digest quarry:s3cret",
			payload: func(n int, before, after string) string {
				updates := repeatObject(n, func(i int) string {
					return fmt.Sprintf(`{"name":"refs/heads/b%d","oldObjectId":%s,"newObjectId":%s}`, i, before, after)
				})
				return fmt.Sprintf(`{"id":"e","eventType":"git.push","resource":{"refUpdates":%s,"repository":{"id":"g","name":"r","remoteUrl":"https://dev.azure.com/o/p/_git/r","project":{"name":"p"}}}}`, updates)
			},
			batch: true, withoutSubject: `{"id":"e","eventType":"git.push"}`, wrongType: `{"id":"e","eventType":7,"resource":{}}`, nullHashes: 400, noRefs: 400,
		},
		{
			kind: code.GenericGitHost, open: generic.Open, secret: genericSecret,
			sign: func(r *http.Request, body []byte) {
				key, _ := signature.ParseSecret(genericSecret)
				signature.SetStandard(r.Header, "d-1", now, body, key)
			},
			credential: signature.HeaderSignature, short: "v1", malformed: "v1,***", algorithm: "v1a,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
			payload: func(n int, before, after string) string {
				refs := repeatObject(n, func(i int) string {
					return fmt.Sprintf(`{"ref":"refs/heads/b%d","before":%s,"after":%s}`, i, before, after)
				})
				return fmt.Sprintf(`{"repository":"https://git.example/o/r.git","refs":%s}`, refs)
			},
			batch: true, withoutSubject: `{"ref":"refs/heads/main"}`, wrongType: `{"repository":"https://git.example/o/r.git","ref":7}`, nullHashes: 202, noRefs: 202,
		},
	}
}

// TestBadInput sends malformed and oversized deliveries to the receiver in the format of
// each kind of host.
func TestBadInput(t *testing.T) {
	kinds := badInputs()
	if len(kinds) != 8 {
		t.Fatalf("%d kinds, want all eight", len(kinds))
	}
	const threeHundred = "300 refs"
	quoted := func(hash string) string { return `"` + hash + `"` }
	for _, k := range kinds {
		log := new(memoryLog)
		r := newReceiver(t, webhook.Options{
			Kinds:       map[code.HostKind]ingest.Open{k.kind: k.open},
			Connections: []ingest.Connection{{Name: "hub", Kind: k.kind, URL: k.url, Secrets: []string{k.secret}, AutoRegister: true}},
			Appender:    log, Repositories: catalog{}, Now: newOptions(log).Now,
		})
		good := k.payload(1, quoted(oldHash), quoted(newHash))
		if k.algorithm == "" {
			k.algorithm = sha1Signature(k.secret, good)
		}
		many, tooMany := 1, http.StatusAccepted
		if k.batch {
			many, tooMany = 300, http.StatusBadRequest
		}
		large := strings.Repeat(" ", webhook.DefaultMaxBodyBytes-len(good)) + good // JSON may begin with spaces
		for _, c := range []struct {
			name    string
			payload string
			// credential replaces the value that sign set, unless it is empty; "-"
			// removes it.
			credential string
			want       int
		}{
			{"a good delivery", good, "", 202},
			{"no credential", good, "-", 401},
			{"a short credential", good, k.short, 401},
			{"a malformed credential", good, k.malformed, 401},
			{"another algorithm", good, k.algorithm, 401},
			{"nothing that the event is about", k.withoutSubject, "", 400},
			{"a value of a wrong type", k.wrongType, "", 400},
			{"no hash on either side", k.payload(1, "null", "null"), "", k.nullHashes},
			{"zeros on both sides", k.payload(1, quoted(zeroHash), quoted(zeroHash)), "", 202},
			{threeHundred, k.payload(300, quoted(oldHash), quoted(newHash)), "", 202},
			{"a byte order mark", "\ufeff" + good, "", 202},
			{"zeros of SHA-256 on one side", k.payload(1, quoted(zeroHash+strings.Repeat("0", 24)), quoted(newHash+strings.Repeat("2", 24))), "", 202},
			{"no refs", k.payload(0, quoted(oldHash), quoted(newHash)), "", k.noRefs},
			{"too many refs", k.payload(ingest.MaxPushes+1, quoted(oldHash), quoted(newHash)), "", tooMany},
			{"25 MiB", large, "", 202},
			{"25 MiB and a byte", " " + large, "", 413},
		} {
			w, pushes := postAs(t, r, log, &k, c.payload, c.credential)
			want := 0
			switch {
			case c.want == http.StatusAccepted && c.name == threeHundred:
				want = many
			case c.want == http.StatusAccepted:
				want = 1
			}
			if w.Code != c.want || pushes != want {
				t.Errorf("%s, %s: %d with %d pushes, want %d with %d: %.200s", k.kind, c.name, w.Code, pushes, c.want, want, w.Body)
			}
			if strings.Contains(w.Body.String(), k.secret) {
				t.Errorf("%s, %s: the answer has the secret", k.kind, c.name)
			}
		}
	}
}

// postAs sends a payload in the format of a kind of host and returns how many pushes were
// appended.
func postAs(t *testing.T, r http.Handler, log *memoryLog, k *badInput, payload, credential string) (*httptest.ResponseRecorder, int) {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, "/webhooks/"+string(k.kind)+"/hub", strings.NewReader(payload))
	for name, values := range k.header {
		req.Header[name] = values
	}
	k.sign(req, []byte(payload))
	switch {
	case credential == "":
	case k.credential == "":
		req.URL.RawQuery = "token=" + strings.TrimPrefix(credential, "-")
	default:
		req.Header.Set(k.credential, strings.TrimPrefix(credential, "-"))
	}
	before := len(log.records)
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	pushes := 0
	for _, record := range log.records[before:] {
		_, ev, err := event.Decode(record)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.(*event.Push); ok {
			pushes++
		}
	}
	return w, pushes
}

// TestConnectionTest sends the unsigned connection test of Bitbucket Server, and
// deliveries that resemble it.
func TestConnectionTest(t *testing.T) {
	log := new(memoryLog)
	o := newOptions(log)
	o.Kinds = map[code.HostKind]ingest.Open{code.BitbucketServer: bitbucketserver.Open, code.GitHub: github.Open}
	o.Connections = []ingest.Connection{
		{Name: "hub", Kind: code.BitbucketServer, URL: "https://bitbucket.example.org", Secrets: []string{"s3cret"}, AllowToken: true},
		{Name: "hub2", Kind: code.GitHub, Secrets: []string{"s3cret"}},
	}
	r := newReceiver(t, o)
	signed := func(prefix, body string) string { return ingesttest.SignHMAC(prefix, []byte(body), []byte("s3cret")) }
	for _, c := range []struct {
		name, path string
		header     map[string]string
		body       string
		want       int
	}{
		{"a test without a signature", "bitbucketServer/hub", map[string]string{"X-Event-Key": "diagnostics:ping"}, `{"test": true}`, 200},
		{"a test without a body", "bitbucketServer/hub", map[string]string{"X-Event-Key": "diagnostics:ping"}, "", 200},
		{"a signed test", "bitbucketServer/hub", map[string]string{"X-Event-Key": "diagnostics:ping", "X-Hub-Signature": signed("sha256=", "")}, "", 200},
		{"a test with a forged signature", "bitbucketServer/hub", map[string]string{"X-Event-Key": "diagnostics:ping", "X-Hub-Signature": "sha256=00"}, `{}`, 401},
		{"a test with a wrong password", "bitbucketServer/hub", map[string]string{"X-Event-Key": "diagnostics:ping", "Authorization": "Basic eDp5"}, `{}`, 401},
		{"a push without a signature", "bitbucketServer/hub", map[string]string{"X-Event-Key": "repo:refs_changed"}, `{}`, 401},
		{"a test of another kind", "github/hub2", map[string]string{"X-Github-Event": "ping"}, `{}`, 401},
		{"a test with a byte order mark", "github/hub2", map[string]string{"X-Github-Event": "ping", "X-Hub-Signature-256": signed("sha256=", "\ufeff{}")}, "\ufeff{}", 200},
	} {
		req := httptest.NewRequest(http.MethodPost, "/webhooks/"+c.path, strings.NewReader(c.body))
		for name, value := range c.header {
			req.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		if w.Code != c.want || len(log.records) > 0 || c.want == 200 && !strings.Contains(w.Body.String(), `"accepted":0`) {
			t.Errorf("%s: %d with %d records, want %d: %s", c.name, w.Code, len(log.records), c.want, w.Body)
		}
	}
}
