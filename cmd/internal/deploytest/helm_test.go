package deploytest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the rendered manifests of the chart")

const (
	chart       = "deploy/helm/quarry"
	helmRemedy  = "make deploy-tools builds it in .cache/deploy, which must be on the PATH"
	chartValues = "deploy/helm/testdata"
	kubeVersion = "1.33.0"
)

// layouts are the values with which the chart is rendered. The rendered manifests are in
// NAME.golden.yaml next to them.
var layouts = []string{"single", "scaled", "sharded"}

// TestChart lints the chart, and compares the manifests of each layout with the committed
// ones.
func TestChart(t *testing.T) {
	helm := requireProgram(t, "helm", helmRemedy)
	for _, layout := range layouts {
		t.Run(layout, func(t *testing.T) {
			values := filepath.Join(chartValues, layout+".values.yaml")
			if out, err := runProgram(t, helm, "lint", "--strict", "--kube-version", kubeVersion, chart, "--values", values); err != nil {
				t.Errorf("helm lint: %v\n%s", err, out)
			}
			got := mustRun(t, helm, "template", "code", chart, "--kube-version", kubeVersion, "--namespace", "search", "--values", values)
			path := filepath.Join(root, chartValues, layout+".golden.yaml")
			if *rewrite {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil || got != string(want) {
				t.Errorf("the manifests are not those of %s (%v); run go test ./cmd/internal/deploytest -run TestChart -rewrite and read the difference", path, err)
			}
		})
	}
}

// TestManifestsAreValid validates the committed manifests against the schemas of
// Kubernetes, which kubernetes-validate contains. It has none for a ServiceMonitor.
func TestManifestsAreValid(t *testing.T) {
	validate := requireProgram(t, "kubernetes-validate", helmRemedy)
	for _, layout := range layouts {
		for _, version := range []string{"1.27", "1.33", "1.37"} {
			out, err := runProgram(t, validate, "--strict", "--kubernetes-version", version, filepath.Join(chartValues, layout+".golden.yaml"))
			if err != nil {
				t.Errorf("Kubernetes %s, %s: %v\n%s", version, layout, err, out)
			}
		}
	}
}

// TestChartRefusesValues renders the chart with values that cannot work. The error names
// the key or what to set.
func TestChartRefusesValues(t *testing.T) {
	helm := requireProgram(t, "helm", helmRemedy)
	for _, c := range []struct{ set, want string }{
		{"layout=scaled,config.log.driver=kafka,config.storage.segments=s3://bucket/folder", "all pods must have the same"},
		{"layout=both", "layout"},
		{"layout=sharded,shard.shares=17", "config.log.partitions of at least shard.shares"},
		{"layout=sharded,shard.previous.shares=2", "shard.previous needs another shard.generation"},
		{"layout=sharded,shard.previous.shares=17,shard.generation=b", "config.log.partitions of at least shard.shares"},
		{"shard.generation=B", "generation"},
		{"shard.replicas=17", "replicas"},
		{"typo=1", "typo"},
		{"query.replicas=0", "replicas"},
		{"config.listen=0.0.0.0:80", "listen"},
		{"config.access.secret=in-place", "secret"},
		{"config.connections[0].secrets[0]=in-place", "secrets"},
		{"config.storage.s3.secretAccessKey=in-place", "secretAccessKey"},
		{"config.log.kafka.sasl.password=in-place", "password"},
		{"config.log.driver=embedded", "config.log.driver: kafka"},
		{"config.storage.segments=/srv/segments", "config.storage.segments: s3://"},
		{"image.repository=", "image.repository"},
		{"image.digest=sha256:1", "digest"},
		{"ingress.host=", "ingress.host"},
		{"existingSecret=", "needs existingSecret"},
		{"terminationGracePeriodSeconds=10", "terminationGracePeriodSeconds"},
	} {
		values := filepath.Join(chartValues, "scaled.values.yaml")
		if strings.HasPrefix(c.set, "layout=scaled") {
			values = filepath.Join(chartValues, "single.values.yaml")
		}
		if out, err := runProgram(t, helm, "template", "code", chart, "--kube-version", kubeVersion, "--values", values, "--set", c.set); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("--set %s: %v, want an error with %q:\n%s", c.set, err, c.want, out)
		}
	}
}

// TestChartChangesTheNumberOfShards renders the chart while partitions move from 2 shards to 3: all
// run, those before as they were, and fronts have both.
func TestChartChangesTheNumberOfShards(t *testing.T) {
	helm := requireProgram(t, "helm", helmRemedy)
	out := mustRun(t, helm, "template", "code", chart, "--kube-version", kubeVersion, "--values", filepath.Join(chartValues, "sharded.values.yaml"),
		"--set", "shard.shares=3", "--set", "shard.generation=b", "--set", "shard.previous.shares=2")
	var peers []string
	for _, shard := range []string{"0/2 0", "1/2 1", "0/3 b-0", "1/3 b-1", "2/3 b-2"} {
		share, name, _ := strings.Cut(shard, " ")
		if set := "shard.share=" + share + `"`; strings.Count(out, set) != 1 || strings.Count(out, "serviceName: code-quarry-shard-"+name+"-pods") != 1 {
			t.Errorf("there is not one StatefulSet %s with %s", name, set)
		}
		peers = append(peers, share+"@code-quarry-shard-"+name+"-pods:7080")
	}
	if want := `"shard.peers=` + strings.Join(peers, ",") + `"`; !strings.Contains(out, want) {
		t.Errorf("fronts do not have %s", want)
	}
}

// TestIngressHasThePathOfThePublicURL renders the chart for a server below a path of a host.
func TestIngressHasThePathOfThePublicURL(t *testing.T) {
	helm := requireProgram(t, "helm", helmRemedy)
	out, err := runProgram(t, helm, "template", "code", chart, "--kube-version", kubeVersion, "--values", filepath.Join(chartValues, "scaled.values.yaml"),
		"--set", "config.publicUrl=https://tools.example.com/quarry")
	if err != nil || !strings.Contains(out, "path: /quarry/webhooks/\n") || !strings.Contains(out, "path: /quarry/\n") {
		t.Errorf("%v: the ingress lacks the path:\n%s", err, out)
	}
}

// TestChartHasNoSecrets checks that references to secrets, but no secret, are in the
// manifests.
func TestChartHasNoSecrets(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, chartValues, "scaled.golden.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "kind: Secret") || !strings.Contains(string(text), "secretName: quarry") {
		t.Error("the manifests have a Secret, or do not mount the existing one")
	}
}
