package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// vulnerabilityModule is the Go module that contains the Go vulnerability database. It
// comes from the module proxy, so the check needs no other network.
const vulnerabilityModule = "golang.org/x/vulndb"

type securityTask struct {
	Database string `help:"URL of a vulnerability database, as govulncheck -db takes it; empty downloads the Go module of the database."`
	Version  string `default:"latest" help:"Version of the Go module of the database."`
	Accepted string `type:"existingfile" help:"File of accepted vulnerabilities: the ID of a vulnerability, or stdlib, on each line, and the reason."`
}

// Run fails if the code reaches a known vulnerability that is not accepted.
func (c *securityTask) Run(ctx context.Context) error {
	accepted, err := readAccepted(c.Accepted)
	if err != nil {
		return err
	}
	if c.Database == "" {
		if c.Database, err = downloadDatabase(ctx, c.Version); err != nil {
			if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
				return err
			}
			fmt.Println("known vulnerabilities: not checked:", err)
			return nil
		}
	}
	out, err := runOutput(ctx, ".", "go", "tool", "govulncheck", "-format", "json", "-db", c.Database, "./...")
	if err != nil {
		return fmt.Errorf("govulncheck: %w", err)
	}
	goVersion, found, err := readFindings(strings.NewReader(out))
	if err != nil {
		return fmt.Errorf("read the output of govulncheck: %w", err)
	}
	return reportFindings(os.Stdout, goVersion, found, accepted)
}

// downloadDatabase returns the URL of the database in the module cache.
func downloadDatabase(ctx context.Context, version string) (string, error) {
	out, err := runOutput(ctx, ".", "go", "mod", "download", "-json", vulnerabilityModule+"@"+version)
	if err != nil {
		return "", fmt.Errorf("download the vulnerability database: %w", err)
	}
	var module struct{ Dir, Version string }
	if err := json.Unmarshal([]byte(out), &module); err != nil {
		return "", fmt.Errorf("download the vulnerability database: %w", err)
	}
	fmt.Println("known vulnerabilities: database", module.Version)
	return "file://" + module.Dir + "/data/osv", nil
}

// readAccepted reads the reasons of accepted vulnerabilities, by ID, and of those of the
// standard library.
func readAccepted(path string) (map[string]string, error) {
	accepted := map[string]string{}
	if path == "" {
		return accepted, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for n, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		id, reason, _ := strings.Cut(line, " ")
		if reason == "" || !strings.HasPrefix(id, "GO-") && id != standardModule {
			return nil, fmt.Errorf("%s:%d: want the ID of a vulnerability or stdlib, and a reason, have %.80q", path, n+1, line)
		}
		accepted[id] = reason
	}
	return accepted, nil
}

// standardModule is govulncheck's name of the module of the standard library.
const standardModule = "stdlib"

// vulnerability is a known vulnerability in a module that the code uses.
type vulnerability struct {
	id, summary, module, found, fixed string
	// call is the function of the module that the code reaches; empty if it reaches none.
	call string
}

// readFindings reads the output of govulncheck -format json: the Go version, and the
// vulnerabilities by ID.
func readFindings(r io.Reader) (goVersion string, found []vulnerability, err error) {
	summaries, byID := map[string]string{}, map[string]vulnerability{}
	for in := json.NewDecoder(r); ; {
		var message struct {
			Config *struct {
				GoVersion string `json:"go_version"`
			}
			OSV     *struct{ ID, Summary string }
			Finding *struct {
				OSV          string
				FixedVersion string `json:"fixed_version"`
				Trace        []struct{ Module, Version, Package, Receiver, Function string }
			}
		}
		if err := in.Decode(&message); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", nil, err
		}
		switch f := message.Finding; {
		case message.Config != nil:
			goVersion = message.Config.GoVersion
		case message.OSV != nil:
			summaries[message.OSV.ID] = message.OSV.Summary
		case f != nil && len(f.Trace) > 0:
			at := f.Trace[0]
			v := vulnerability{id: f.OSV, module: at.Module, found: at.Version, fixed: f.FixedVersion, call: byID[f.OSV].call}
			if v.call == "" && at.Function != "" {
				v.call = at.Package + "." + strings.TrimPrefix(at.Receiver+"."+at.Function, ".")
			}
			byID[f.OSV] = v
		}
	}
	if goVersion == "" {
		return "", nil, errors.New("it does not name a Go version")
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		v := byID[id]
		v.summary = summaries[id]
		found = append(found, v)
	}
	return goVersion, found, nil
}

// reportFindings prints the vulnerabilities. It fails if one is reached and not accepted:
// neither by its ID nor as one of the standard library.
func reportFindings(w io.Writer, goVersion string, found []vulnerability, accepted map[string]string) error {
	reached, refused := 0, 0
	for _, v := range found {
		if v.call == "" {
			continue
		}
		reached++
		reason, ok := accepted[v.id]
		if !ok && v.module == standardModule {
			reason, ok = accepted[standardModule]
		}
		if !ok {
			refused++
			reason = "not accepted"
		}
		_, _ = fmt.Fprintf(w, "%s: %s\n  reached: %s of %s %s; fixed in %s; %s\n", v.id, v.summary, v.call, v.module, v.found, v.fixed, reason)
	}
	_, _ = fmt.Fprintf(w, "known vulnerabilities with %s: %d reached, %d of them not accepted; %d more in modules, not reached\n", goVersion, reached, refused, len(found)-reached)
	if refused > 0 {
		return fmt.Errorf("%d known vulnerabilities are reached: upgrade the module or Go, or accept each with its reason in .ci/vulnerabilities.txt", refused)
	}
	return nil
}
