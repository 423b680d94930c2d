package server

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/projections/accountrows"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// BenchmarkSearchAudited alternates between searches with and without the audit log. The
// search finds nothing, so that the cost of the request dominates.
func BenchmarkSearchAudited(b *testing.B) {
	c := testConfig(b, "limits.perSecond=0")
	s := runServer(b, c)
	token, err := os.ReadFile(filepath.Join(c.Data, operator.FileName))
	if err != nil {
		b.Fatal(err)
	}
	off := s.apiOptions
	off.Audit, off.Registerer = noAudit{}, prometheus.NewRegistry()
	bare, err := api.New(off)
	if err != nil {
		b.Fatal(err)
	}
	ask := func(to http.Handler) time.Duration {
		r := httptest.NewRequest(http.MethodPost, "/api/search", strings.NewReader(`{"query":"a word that nobody wrote","matches":10}`))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		w := httptest.NewRecorder()
		started := time.Now()
		to.ServeHTTP(w, r)
		took := time.Since(started)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
		return took
	}
	var with, without []time.Duration
	for n := 0; b.Loop(); n++ {
		if n%2 == 0 { // alternate which one goes first
			with = append(with, ask(s.api))
		}
		without = append(without, ask(bare))
		if n%2 == 1 {
			with = append(with, ask(s.api))
		}
	}
	b.ReportMetric(medianMicroseconds(with), "µs-with/op")
	b.ReportMetric(medianMicroseconds(without), "µs-without/op")
}

// medianMicroseconds returns the median in microseconds.
func medianMicroseconds(of []time.Duration) float64 {
	slices.Sort(of)
	return float64(of[len(of)/2].Nanoseconds()) / 1000
}

// BenchmarkAuditBytes writes audit records in groups of the size that one busy server
// writes, and measures the bytes of the log and of the rows.
func BenchmarkAuditBytes(b *testing.B) {
	const records = 100_000
	for b.Loop() {
		c := testConfig(b)
		s := openOnly(b, c)
		stop := run(b, s)
		before, rowsBefore := directoryBytes(b, c.LogDir()), directoryBytes(b, c.AccountsDir())
		for i := range records {
			rec := audit.Record{
				At: time.Now(), Action: audit.Searched, TargetType: audit.TargetInstance, Status: 200, RequestID: fmt.Sprintf("%026d", i),
				Actor:    account.Actor{Kind: account.ActorKey, User: "5f0c2e8a91b34d77a0c1e2f3", Credential: "0a1b2c3d4e5f60718293a4b5", Address: fmt.Sprintf("192.0.2.%d", i%250), Client: "curl/8.7.1"},
				Metadata: map[string]string{"query": fmt.Sprintf("repo:kettle lang:go func Boil%d", i%5000)},
			}
			if i%3 == 0 {
				rec.Action, rec.TargetType, rec.Target = audit.FetchedSource, audit.TargetFile, fmt.Sprintf("github.com/meadow/kettle:internal/boil/%d.go", i%900)
				rec.Metadata = map[string]string{"ref": "main"}
			}
			if err := s.recorder.Note(b.Context(), rec); err != nil {
				b.Fatal(err)
			}
		}
		for done := false; !done; {
			heads, err := accountrows.NewAuditLog(s.accounts, sealKey(s.masterSecret)).Heads(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			done = heads[1].Entries >= records
			<-time.After(50 * time.Millisecond)
		}
		started := time.Now()
		if report, err := accountrows.NewAuditLog(s.accounts, sealKey(s.masterSecret)).Verify(b.Context(), nil, nil); err != nil || len(report.Findings) > 0 {
			b.Fatalf("findings %+v: %v, want none", report.Findings, err)
		}
		b.ReportMetric(float64(time.Since(started).Microseconds())/records, "µs-verify/record")
		stop()
		b.ReportMetric(float64(directoryBytes(b, c.LogDir())-before)/records, "B-log/record")
		b.ReportMetric(float64(directoryBytes(b, c.AccountsDir())-rowsBefore)/records, "B-rows/record")
	}
}

func directoryBytes(b *testing.B, dir string) (total int64) {
	b.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return total
}
