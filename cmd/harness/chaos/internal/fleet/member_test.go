package fleet

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
)

// TestMain runs the tests, or a process of TestStartsAgain.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		serveAfterFailures(os.Args)
	}
	os.Exit(m.Run())
}

// serveAfterFailures ends with exit status 1 until as many starts have failed as the setting
// failures says, with the words of its setting says. Then it is ready.
func serveAfterFailures(args []string) {
	value := func(flag string) string { return args[slices.Index(args, flag)+1] }
	setting := func(key string) string {
		for _, arg := range args {
			if text, ok := strings.CutPrefix(arg, key+"="); ok {
				return text
			}
		}
		return ""
	}
	data := value("--data")
	before, _ := os.ReadFile(data) // none before the first start
	if fmt.Sprint(len(before)) != setting("failures") {
		if err := os.WriteFile(data, append(before, '.'), 0o600); err != nil {
			panic(err)
		}
		fmt.Println("quarry: " + setting("says"))
		os.Exit(1)
	}
	panic(http.ListenAndServe(value("--listen"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
}

// TestStartsAgain starts processes that end, because brokers do not answer or for another
// reason.
func TestStartsAgain(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says            string
		failures, again int
		ready           bool
	}{
		{kafkalog.ErrNoAnswer.Error(), 0, 0, true},
		{kafkalog.ErrNoAnswer.Error(), 2, 2, true},
		{kafkalog.ErrNoAnswer.Error(), maxStartsAgain + 1, maxStartsAgain, false},
		{"the index is damaged", 1, 0, false},
	} {
		lines := 0
		f := &Fleet{o: Options{Quarry: program, Log: func(string, ...any) { lines++ }}, dir: t.TempDir()}
		m := f.newMember("all", "")
		m.Data = filepath.Join(f.dir, "starts")
		f.Members = []*Member{m}
		err := m.Start(t.Context(), fmt.Sprintf("failures=%d", c.failures), "says="+c.says)
		if (err == nil) != c.ready || err != nil && !errors.Is(err, ErrNotReady) || f.StartsAgain() != c.again || lines != c.again {
			t.Errorf("%+v: %v, started again %d times, which %d lines say", c, err, f.StartsAgain(), lines)
		}
		m.Kill()
	}
}
