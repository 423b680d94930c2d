package deploytest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/quarrysearch/quarry/cmd/internal/config"
)

// loadCompose loads a file as docker compose does: it replaces variables, validates
// against the schema, and checks that what services name is there.
func loadCompose(t *testing.T, name string, env ...string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "deploy/compose", name)}, cli.WithEnv(env))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(t.Context())
}

// TestComposeFiles loads both files, and checks what each server needs.
func TestComposeFiles(t *testing.T) {
	for name, roles := range map[string][]string{"compose.yml": {"quarry"}, "compose.scaled.yml": {"ingest", "worker-1", "worker-2", "query"}} {
		project, err := loadCompose(t, name, "QUARRY_IMAGE=quarry:test", "S3_SECRET=x")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, role := range roles {
			s, err := project.GetService(role)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if !s.ReadOnly || len(s.CapDrop) == 0 || s.MemLimit == 0 || s.StopGracePeriod == nil || len(s.Volumes) == 0 {
				t.Errorf("%s: %s is not confined, or has no data: %+v", name, role, s)
			}
			for _, port := range s.Ports {
				if port.HostIP != "127.0.0.1" || port.Target == 7071 {
					t.Errorf("%s: %s publishes %+v; want loopback only, and no metrics", name, role, port)
				}
			}
			if err := loadSettings(&s); err != nil {
				t.Errorf("%s: %s does not start: %v", name, role, err)
			}
		}
	}
}

// loadSettings checks the settings that the environment and the role of a service give a server.
func loadSettings(s *types.ServiceConfig) error {
	l := config.Loader{WithoutSecrets: true}
	for name, value := range s.Environment {
		l.Environ = append(l.Environ, name+"="+*value)
	}
	if at := slices.Index(s.Command, "--role"); at >= 0 {
		l.Set = []string{"roles=" + s.Command[at+1]}
	}
	_, unknown, err := l.Load()
	if err == nil && len(unknown) > 0 {
		err = fmt.Errorf("%v", unknown)
	}
	return err
}

// TestComposeNamesWhatIsMissing loads the files without their variables.
func TestComposeNamesWhatIsMissing(t *testing.T) {
	for name, want := range map[string]string{"compose.yml": "QUARRY_IMAGE", "compose.scaled.yml": "S3_SECRET"} {
		env := []string{}
		if want == "S3_SECRET" {
			env = append(env, "QUARRY_IMAGE=quarry:test")
		}
		if _, err := loadCompose(t, name, env...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that names %s", name, err, want)
		}
	}
}

// TestComposeFilesExist checks that the files that services mount are in the tree.
func TestComposeFilesExist(t *testing.T) {
	project, err := loadCompose(t, "compose.scaled.yml", "QUARRY_IMAGE=quarry:test", "S3_SECRET=x")
	if err != nil {
		t.Fatal(err)
	}
	bound := 0
	for _, s := range project.Services {
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind {
				bound++
				if _, err := os.Stat(v.Source); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if bound != 5 {
		t.Errorf("%d files are mounted, want 5", bound)
	}
}
