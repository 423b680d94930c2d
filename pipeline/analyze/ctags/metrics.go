package ctags

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Results of files, and reasons why processes were replaced.
const (
	resultComplete = "complete"
	resultTimeout  = "timeout"
	resultLimit    = "limit"
	resultFailed   = "failed"
	reasonCrash    = "crash"
)

// Metrics count files and processes.
type Metrics struct {
	files    *prometheus.CounterVec
	restarts *prometheus.CounterVec
}

// NewMetrics returns metrics and registers them with reg unless it is nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	auto := promauto.With(reg)
	m := &Metrics{
		files: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_ctags_files_total", Help: "Files read by ctags, by result: complete, timeout, limit (too large, or too many symbols) or failed.",
		}, []string{"result"}),
		restarts: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_ctags_restarts_total", Help: "Processes of ctags that were replaced, by reason: crash, timeout or limit.",
		}, []string{"reason"}),
	}
	for _, result := range []string{resultComplete, resultTimeout, resultLimit, resultFailed} {
		m.files.WithLabelValues(result)
	}
	for _, reason := range []string{reasonCrash, resultTimeout, resultLimit} {
		m.restarts.WithLabelValues(reason)
	}
	return m
}

// resultOf returns the label for an error, or other for errors that are neither ErrTimeout
// nor ErrLimit.
func resultOf(err error, other string) string {
	switch {
	case err == nil:
		return resultComplete
	case errors.Is(err, ErrTimeout):
		return resultTimeout
	case errors.Is(err, ErrLimit):
		return resultLimit
	}
	return other
}
