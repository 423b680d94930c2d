package doctor

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/pipeline/mirror"
)

const (
	// nearMemory is the share of the memory above which a peak may exceed it.
	nearMemory = 0.85
	// fewOpenFiles is the number of open files that a large store needs: 4,096 tables of
	// the projections, the files of the log, the accounts and the mirrors, and
	// connections.
	fewOpenFiles    = 8192
	tooFewOpenFiles = 1024
	// maxSkew bounds how far a record may be in the future: webhooks whose signature is
	// off by five minutes are refused.
	maxSkew = 5 * time.Minute
	minSkew = 5 * time.Second
)

func checkMemory(_ context.Context, x *Examination, r *report) {
	m, err := x.Probes.Memory()
	if err != nil {
		r.addWarning("", "the memory of this machine is unknown: %v", err)
		return
	}
	const remedy = "remove the memory settings, or lower runtime.memoryBytes, cache.framesBytes, cache.blocksBytes, pipeline.builders and runtime.memoryLimitBytes, or add memory"
	planned, limit, whose := x.Config.PlannedBytes(), m.Total, "this machine has"
	if m.Limit > 0 && m.Limit < m.Total {
		limit, whose = m.Limit, "its control group allows"
	}
	holder, _ := x.lockHeld() // unknown counts as stopped
	switch {
	case planned > limit:
		r.addProblem(remedy, "the settings allow the server to use %s, and %s %s", sizeText(planned), whose, sizeText(limit))
	case float64(planned) > nearMemory*float64(limit):
		r.addWarning(remedy, "the settings allow the server to use %s, and %s %s: the kernel's page cache also needs memory",
			sizeText(planned), whose, sizeText(limit))
	case !holder.Held && m.Available > 0 && planned > m.Available:
		r.addWarning("stop other programs, or "+remedy, "the settings allow the server to use %s, and %s of memory are free",
			sizeText(planned), sizeText(m.Available))
	default:
		r.addOK("the settings allow the server to use %s, and %s %s", sizeText(planned), whose, sizeText(limit))
	}
}

func checkOpenFiles(_ context.Context, x *Examination, r *report) {
	holder, _ := x.lockHeld() // unknown counts as stopped
	limit, err := x.Probes.OpenFiles(holder.Process)
	if err != nil && holder.Process != 0 {
		limit, err = x.Probes.OpenFiles(0)
	}
	const remedy = "raise the limit: LimitNOFILE=65536 in systemd, ulimit -Hn 65536 in a shell, --ulimit nofile=65536 for a container"
	switch {
	case err != nil:
		r.addWarning("", "the limit of open files is unknown: %v", err)
	case limit < tooFewOpenFiles:
		r.addProblem(remedy, "a process may open %d files", limit)
	case limit < fewOpenFiles:
		r.addWarning(remedy, "a process may open %d files, but a large index needs %d", limit, fewOpenFiles)
	default:
		r.addOK("a process may open %d files", limit)
	}
}

func checkGit(ctx context.Context, x *Examination, r *report) {
	if !x.Config.Has("pipeline") {
		r.addOK("a process without the role pipeline needs no git")
		return
	}
	const remedy = "install git 2.34 or newer, on the PATH of the server"
	out, err := x.Probes.Git(ctx)
	if err != nil {
		r.addProblem(remedy, "git does not start: %v", err)
		return
	}
	if err := mirror.CheckVersion(out); err != nil {
		r.addProblem(remedy, "%v", err)
		return
	}
	r.addOK("%s", out)
}

func checkLog(ctx context.Context, x *Examination, r *report) {
	kafka := x.Config.Log.Driver == "kafka"
	if !kafka && !x.mayOpenLog(r) {
		return
	}
	topics, err := x.Probes.Topics(ctx)
	switch {
	case err != nil && kafka:
		r.addProblem("check log.kafka.brokers, tls and sasl, and the brokers themselves", "the brokers cannot be used: %v", err)
		return
	case err != nil:
		r.addProblem("check the disk; if the log is damaged, restore a copy: docs/operations.md", "the log cannot be read: %v", err)
		return
	}
	for _, t := range topics {
		if !t.Exists {
			r.addWarning("start the server, or run quarry topics ensure", "the topic %s does not exist", t.Topic)
		}
		for _, d := range t.Deviations {
			status := Warning
			if d.Refused && !x.Config.Log.Kafka.AllowDataLoss {
				status = Problem
			}
			r.add(status, d.Mend, "the topic %s: %s, %s", t.Topic, d.What, d.Why)
		}
	}
	if len(r.findings) == 0 {
		r.addOK("%d topics meet the requirements", len(topics))
	}
}

// mayOpenLog reports whether the embedded log may be opened. If not, it adds the reason
// to r.
func (x *Examination) mayOpenLog(r *report) bool {
	holder, err := x.lockHeld()
	if err != nil || holder.Held {
		r.addOK("the embedded log is open in the server")
		return false
	}
	ours, _, err := x.Probes.Owner(x.Config.LogDir())
	if err != nil || !ours {
		r.addOK("this user cannot open an embedded log")
		return false
	}
	return true
}

func checkClock(ctx context.Context, x *Examination, r *report) {
	now := x.Now()
	if now.Year() < 2025 {
		r.addProblem("set the clock and synchronize it with NTP", "the time is %s", now.UTC().Format(time.DateTime))
		return
	}
	if remote, ok := x.serverTime(ctx); ok {
		if skew := now.Sub(remote).Abs(); skew > minSkew {
			r.addWarning("synchronize both clocks with NTP", "the clock of the server differs from the local clock by %s", skew.Round(time.Second))
		}
	}
	last, err := x.lastRecord(ctx)
	ahead := last.Sub(now)
	const remedy = "synchronize the clock with NTP; if it was ahead earlier and is correct now, the warning will disappear"
	switch {
	case err != nil:
		r.addWarning("", "the time of the last record is unknown: %v", err)
	case ahead > maxSkew:
		r.addProblem(remedy, "the last record of the log is %s in the future", ahead.Round(time.Second))
	case ahead > minSkew:
		r.addWarning(remedy, "the last record of the log is %s in the future", ahead.Round(time.Second))
	case last.IsZero():
		r.addOK("the time is %s", now.UTC().Format(time.DateTime))
	default:
		r.addOK("the time is %s, the last record of the log is from %s", now.UTC().Format(time.DateTime), last.UTC().Format(time.DateTime))
	}
}

// lastRecord returns when the last record was appended to the log, or the zero time if
// the log may not be opened. If the server has the log open, it returns the time of the
// newest file.
func (x *Examination) lastRecord(ctx context.Context) (time.Time, error) {
	if x.Config.Log.Driver != "kafka" && !x.mayOpenLog(&report{}) {
		return youngestFile(x.Config.LogDir())
	}
	return x.Probes.LastRecord(ctx)
}
