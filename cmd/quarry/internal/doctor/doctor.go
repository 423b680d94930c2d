package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
)

// Status is the severity of a finding.
type Status string

// These are the severities of findings.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Problem Status = "problem"
)

// Finding is a result of a check.
type Finding struct {
	Check   string `json:"check"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	// Remedy tells how to fix the problem. It is empty if nothing is wrong.
	Remedy string `json:"remedy,omitempty"`
}

// Examination is the input of all checks.
type Examination struct {
	Config *config.Config
	// Warnings are the warnings about the configuration.
	Warnings []string
	Now      func() time.Time
	Probes   Probes
}

// checkTimeout bounds one check.
const checkTimeout = 15 * time.Second

// check is one row of the table.
type check struct {
	name string
	run  func(ctx context.Context, x *Examination, r *report)
}

// checks contains all checks. A check that explains the failures of others comes first.
var checks = []check{
	{"configuration", checkConfiguration},
	{"secrets", checkSecrets},
	{"addresses", checkAddresses},
	{"certificate", checkCertificate},
	{"data directory", checkDataDirectory},
	{"segment store", checkSegments},
	{"user", checkUser},
	{"permissions", checkPermissions},
	{"lock", checkLock},
	{"disk", checkDisk},
	{"memory", checkMemory},
	{"open files", checkOpenFiles},
	{"git", checkGit},
	{"backup", checkBackup},
	{"log", checkLog},
	{"clock", checkClock},
	{"shards", checkShards},
	{"git peers", checkGitPeers},
	{"server", checkServer},
	{"owner", checkOwner},
	{"dead letters", checkDeadLetters},
	{"repositories", checkRepositories},
	{"snapshots", checkSnapshots},
}

// report collects the findings of one check.
type report struct {
	check    string
	findings []Finding
}

func (r *report) add(status Status, remedy, format string, args ...any) {
	r.findings = append(r.findings, Finding{Check: r.check, Status: status, Message: fmt.Sprintf(format, args...), Remedy: remedy})
}

func (r *report) addOK(format string, args ...any) { r.add(OK, "", format, args...) }

func (r *report) addWarning(remedy, format string, args ...any) {
	r.add(Warning, remedy, format, args...)
}

func (r *report) addProblem(remedy, format string, args ...any) {
	r.add(Problem, remedy, format, args...)
}

// Run runs all checks and calls emit with each finding as it is found.
func (x *Examination) Run(ctx context.Context, emit func(Finding) error) error {
	for _, c := range checks {
		for _, f := range x.runCheck(ctx, c) {
			if err := emit(f); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (x *Examination) runCheck(ctx context.Context, c check) []Finding {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	r := &report{check: c.name}
	c.run(ctx, x, r)
	return r.findings
}
