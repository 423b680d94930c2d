package corpus

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Origin is the package manager from which a repository's files come.
type Origin string

// These are the origins of a repository. Packages are written NAME@VERSION, as the
// package manager spells them.
const (
	FromGoRoot       Origin = "goroot"        // the standard library of the go command in use; no packages
	FromGoModule     Origin = "go"            // go mod download
	FromNPM          Origin = "npm"           // npm pack
	FromPyPI         Origin = "pypi"          // pip download, source distribution
	FromCrates       Origin = "crates"        // cargo fetch
	FromMaven        Origin = "maven"         // mvn dependency:copy of the sources jar; group:artifact@version
	FromDebianSource Origin = "debian-source" // apt-get source; the archive keeps one version, see fetchDebianSource
	FromDebianBinary Origin = "debian-binary" // apt-get download of a package that ships a source tarball
)

// Repository is one entry of a List.
type Repository struct {
	// Name is the name of the folder, and of the repository in queries.
	Name string `json:"name"`
	// Set groups repositories that are imported and reported together: linux, go, mixed, history.
	Set string `json:"set"`
	// From is the package manager.
	From Origin `json:"from"`
	// Packages are of the form NAME@VERSION. Several packages are put into separate
	// folders.
	Packages []string `json:"packages,omitempty"`
	// Pushes is the number of one-file commits to prepare, at most MaxPushes.
	Pushes int `json:"pushes,omitempty"`
	// Steps, if not 0, means that the packages are versions of one package, oldest first.
	// They become the history of the repository, with this number of commits from each
	// version to the next, at most MaxSteps.
	Steps int `json:"steps,omitempty"`
}

// List is the content of corpora.json.
type List struct {
	About        string       `json:"about"`
	Repositories []Repository `json:"repositories"`
}

// MaxPushes bounds Repository.Pushes: names are push-01 … push-99.
const MaxPushes = 99

// ErrInvalidList is returned for a list that names a repository twice, or contains an
// unknown origin or a package without a version.
var ErrInvalidList = errors.New("invalid corpora list")

var (
	namePattern    = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,63}$`)
	packagePattern = regexp.MustCompile(`^[A-Za-z0-9@][A-Za-z0-9@/:._+~-]*@[A-Za-z0-9][A-Za-z0-9.:+~_-]*$`)
)

// ParseList decodes and checks corpora.json.
func ParseList(data []byte) (List, error) {
	var l List
	if err := json.Unmarshal(data, &l); err != nil {
		return List{}, fmt.Errorf("%w: %v", ErrInvalidList, err)
	}
	seen := make(map[string]bool, len(l.Repositories))
	for _, r := range l.Repositories {
		if seen[r.Name] {
			return List{}, fmt.Errorf("%w: repository %q is listed twice", ErrInvalidList, r.Name)
		}
		seen[r.Name] = true
		if err := r.validate(); err != nil {
			return List{}, err
		}
	}
	return l, nil
}

// ReadList reads a list from a file.
func ReadList(path string) (List, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return List{}, fmt.Errorf("read corpora list: %w", err)
	}
	return ParseList(data)
}

func (r Repository) validate() error {
	if !namePattern.MatchString(r.Name) {
		return fmt.Errorf("%w: name %q must match %s", ErrInvalidList, r.Name, namePattern)
	}
	if _, ok := fetchers[r.From]; !ok {
		return fmt.Errorf("%w: %s: unknown origin %q", ErrInvalidList, r.Name, r.From)
	}
	if (len(r.Packages) == 0) != (r.From == FromGoRoot) {
		return fmt.Errorf("%w: %s: %d packages for origin %s", ErrInvalidList, r.Name, len(r.Packages), r.From)
	}
	for _, p := range r.Packages {
		if !packagePattern.MatchString(p) || strings.Contains(p, "..") {
			return fmt.Errorf("%w: %s: package %q must be NAME@VERSION", ErrInvalidList, r.Name, p)
		}
	}
	if r.Pushes < 0 || r.Pushes > MaxPushes {
		return fmt.Errorf("%w: %s: %d pushes, at most %d", ErrInvalidList, r.Name, r.Pushes, MaxPushes)
	}
	if r.Steps < 0 || r.Steps > MaxSteps || r.Steps > 0 && (r.Pushes > 0 || r.From == FromGoRoot) {
		return fmt.Errorf("%w: %s: %d steps, at most %d, of packages and without pushes", ErrInvalidList, r.Name, r.Steps, MaxSteps)
	}
	return nil
}

// splitPackage splits NAME@VERSION at its last @, because npm scopes begin with one.
func splitPackage(p string) (name, version string) {
	i := strings.LastIndexByte(p, '@')
	return p[:i], p[i+1:]
}
