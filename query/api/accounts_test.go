package api_test

import (
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/auth/authtest"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/publicurl"
	"github.com/quarrysearch/quarry/schemas/account"
)

const operatorToken = account.PrefixOperator + "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// accountWorld is an API with accounts in memory. Scripts name random values by the order
// in which they are seen: id1 and, for credentials, qk1.
type accountWorld struct {
	*api.Server
	accounts *auth.Service
	now      time.Time
	names    map[string]string
	values   map[string]string
	counts   map[string]int
}

func newAccountWorld(t *testing.T) *accountWorld {
	w := &accountWorld{now: day, names: map[string]string{}, values: map[string]string{}, counts: map[string]int{}}
	inner, directory := newWorld(), authtest.New()
	clock := func() time.Time { return w.now }
	public, err := publicurl.Parse(inner.serverOptions().PublicURL)
	if err != nil {
		t.Fatal(err)
	}
	w.accounts, err = auth.NewService(auth.Options{
		Directory: directory, Appender: directory, Secret: []byte(strings.Repeat("s", auth.MinSecretBytes)), Operator: operatorToken,
		Catalog: inner, Now: clock, PublicURL: public, Hashing: auth.Hashing{MemoryKiB: 8, Passes: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := inner.serverOptions()
	o.Gate, o.Accounts, o.Now, o.Limits = w.accounts, w.accounts, clock, front.Limits{PerSecond: -1, AnonymousPerSecond: -1}
	w.Server = newServer(t, o)
	w.nameValue("qx", operatorToken)
	w.nameValue("qo", w.accounts.SetupValue())
	return w
}

var random = regexp.MustCompile(`\b(?:q[a-z]|sbk|sbst)_[0-9a-f]{64}\b|\b[0-9a-f]{24}\b|\b(?:q[a-z]|sbk)_[0-9a-f]{6}\b`)

// nameValue returns the name of a random value.
func (w *accountWorld) nameValue(kind, value string) string {
	if known, found := w.names[value]; found {
		return known
	}
	w.counts[kind]++
	name := fmt.Sprint(kind, w.counts[kind])
	w.names[value], w.values[name] = name, value
	return name
}

func (w *accountWorld) hideValues(text string) string {
	return random.ReplaceAllStringFunc(text, func(value string) string {
		switch {
		case len(value) == 24:
			return "$" + w.nameValue("id", value)
		case len(value) < 24:
			return value[:strings.IndexByte(value, '_')+1] + "…"
		}
		return "$" + w.nameValue(value[:strings.IndexByte(value, '_')], value)
	})
}

var placeholder = regexp.MustCompile(`\$[a-z]+[0-9]+`)

func (w *accountWorld) showValues(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string { return w.values[name[1:]] })
}

// TestAccounts runs the scripts of testdata/accounts. A command is
//
//	METHOD /path [as=NAME of a credential] [forward=DURATION before it]
//
// with the body as input; it prints status, cookie and body.
func TestAccounts(t *testing.T) {
	_, router := loadDocument(t)
	datadriven.Walk(t, "testdata/accounts", func(t *testing.T, path string) {
		w := newAccountWorld(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			req := httptest.NewRequest(d.Cmd, "https://code.example/", strings.NewReader(w.showValues(d.Input)))
			req.URL.Path, req.URL.RawQuery, _ = strings.Cut(w.showValues(d.CmdArgs[0].Key+argValue(d.CmdArgs[0])), "?")
			for _, arg := range d.CmdArgs[1:] {
				switch arg.Key {
				case "as":
					w.setCredential(req.Header, w.values[arg.Vals[0]])
				case "forward":
					by, err := time.ParseDuration(arg.Vals[0])
					if err != nil {
						d.Fatalf(t, "%v", err)
					}
					w.now = w.now.Add(by)
				}
			}
			rec := httptest.NewRecorder()
			w.ServeHTTP(rec, req)
			validateAnswer(t, d.Pos, router, req, rec)
			out := printAnswer(t, rec, newWorld())
			if cookie := rec.Header().Get("Set-Cookie"); cookie != "" {
				out = strings.Replace(out, "\n", "\nSet-Cookie: "+cookie+"\n", 1)
			}
			return w.hideValues(out)
		})
	})
}

// setCredential sets the header for a credential.
func (w *accountWorld) setCredential(h map[string][]string, credential string) {
	if strings.HasPrefix(credential, account.PrefixSession) {
		h["Cookie"] = []string{"__Host-quarry_session=" + credential}
		return
	}
	h["Authorization"] = []string{"Bearer " + credential}
}
