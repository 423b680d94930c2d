package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/projections/segmentstore/s3test"
)

// useBucket writes the configuration of a server whose segments are in a folder of a bucket.
func (c *crashing) useBucket(s3 *s3test.Server, folder string) {
	c.t.Helper()
	writeTextFile(c.t, c.config, withBucket(configText(c.dir), s3, folder))
}

// withBucket adds the folder of a bucket to a configuration.
func withBucket(text string, s3 *s3test.Server, folder string) string {
	storage := fmt.Sprintf(`,"storage":{"segments":"s3://%s/%s","s3":{"endpoint":%q,"region":%q,"pathStyle":true,"accessKeyId":%q,"secretAccessKey":%q}}}`,
		s3test.Bucket, folder, s3.Endpoint, s3test.Region, s3test.AccessKey, s3test.SecretKey)
	return strings.TrimSuffix(text, "}") + storage
}

// TestBucketIsBackedUpAndRestored kills a server whose segments are in a bucket during
// pushes, backs it up, and restores it to another folder of the bucket. What was
// acknowledged is searchable, and a second backup downloads no segment again. Doctor tells
// whether the bucket answers.
func TestBucketIsBackedUpAndRestored(t *testing.T) {
	t.Parallel()
	s3 := s3test.Start(t)
	c := newCrashing(t)
	c.useBucket(s3, "first")
	c.startServer()
	c.indexTree()
	for range 3 {
		c.pushUntilItFails(func() { c.server.killProcess() })
		c.startServer()
	}
	c.searchAll()
	backups := filepath.Join(c.dir, "backups")
	var files, copied [2]int
	for i := range files {
		said := c.backUp(backups)
		if _, err := fmt.Sscanf(said, fmt.Sprintf("generation %d: %%d files, %%s %%s %%d files,", i+1), &files[i], new(string), new(string), &copied[i]); err != nil {
			t.Fatalf("backup %d: %v\n%s", i+1, err, said)
		}
	}
	// The log has grown, a push that no webhook announced may have been indexed meanwhile, and segments
	// may have been merged.
	var sums [2][]string
	for i := range sums {
		manifest, err := os.ReadFile(filepath.Join(backups, "generations", fmt.Sprintf("%06d", i+1)))
		must(t, err)
		for _, sum := range regexp.MustCompile(`"path":.*"sha256":"(\w+)"`).FindAllStringSubmatch(string(manifest), -1) {
			if i == 0 || !slices.Contains(sums[0], sum[1]) {
				sums[i] = append(sums[i], sum[1])
			}
		}
	}
	if want := len(sums[1]); copied[1] != want || want == files[1] {
		t.Errorf("the second backup copied %d files, want the %d new ones; there are %d, were %d", copied[1], want, files[1], files[0])
	}
	verifyGenerations(t, backups)
	acknowledged := slices.Clone(c.acknowledged)
	c.server.killProcess()

	restore := func(data string) (string, error) {
		out, err := exec.Command("quarry", "restore", backups, "--config", c.config, "--data", data, "--verify").CombinedOutput()
		return string(out), err
	}
	if out, err := restore(filepath.Join(c.dir, "refused")); err == nil || !strings.Contains(out, "must be empty") {
		t.Errorf("restored over the objects of the bucket: %v\n%s", err, out)
	}
	c.useBucket(s3, "second")
	c.data = filepath.Join(c.dir, "restored")
	if out, err := restore(c.data); err != nil {
		t.Fatalf("restore: %v\n%s", err, out)
	}
	c.startServer()
	c.acknowledged = acknowledged
	c.searchAll()
	if objects, err := filepath.Glob(filepath.Join(s3.Dir, s3test.Bucket, "second", "segment-*")); err != nil || len(objects) == 0 {
		t.Errorf("%d segments in the restored folder, %v", len(objects), err)
	}
	if _, err := os.Stat(filepath.Join(c.data, "segments")); err == nil {
		t.Error("the restored data directory has a segment store")
	}
	doctor := func(want string) {
		out, _ := exec.Command("quarry", "doctor", "--config", c.config, "--data", c.data, "--server", c.server.url).CombinedOutput() // it finds problems that belong to this machine
		if !strings.Contains(string(out), want) {
			t.Errorf("doctor does not say %q:\n%s", want, out)
		}
	}
	doctor("s3://" + s3test.Bucket + "/second answers")
	s3.Stop()
	doctor("check storage.s3.endpoint and the network")
	must(t, c.server.stop())
}
