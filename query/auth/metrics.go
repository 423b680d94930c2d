package auth

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Why a credential was refused: values of the label reason.
const (
	refusedMissing   = "missing"
	refusedMalformed = "malformed"
	refusedUnknown   = "unknown"
	refusedExpired   = "expired"
	refusedInactive  = "inactive"
	refusedDisagree  = "disagree"
)

type metrics struct {
	refused         *prometheus.CounterVec
	hashings        prometheus.Counter
	hashingsRefused prometheus.Counter
	signIns         *prometheus.CounterVec
	throttled       prometheus.Counter
	activityLost    prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	m := &metrics{
		refused: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_auth_refused_requests_total",
			Help: "Requests without a valid credential, by reason. The reason is not sent to clients.",
		}, []string{"reason"}),
		hashings: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_auth_password_hashings_total",
			Help: "Passwords hashed for verification or storage.",
		}),
		hashingsRefused: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_auth_refused_password_hashings_total",
			Help: "Password hashings refused with 503 because too many were in progress.",
		}),
		signIns: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_auth_sign_ins_total",
			Help: "Sign-in attempts, by method and outcome: started, failed, throttled, unavailable or unfinished.",
		}, []string{"method", "outcome"}),
		throttled: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_auth_throttled_attempts_total",
			Help: "Attempts refused before the password was checked, because too many had failed.",
		}),
		activityLost: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_auth_activity_not_noted_total",
			Help: "Users and keys whose last use was not recorded because the append timed out.",
		}),
	}
	for _, reason := range []string{refusedMissing, refusedMalformed, refusedUnknown, refusedExpired, refusedInactive, refusedDisagree} {
		m.refused.WithLabelValues(reason)
	}
	for _, method := range []string{methodPassword, methodSetup, methodInvitation, methodReset, methodOIDC} {
		for _, outcome := range []string{outcomeStarted, outcomeFailed, outcomeThrottled, outcomeUnavailable, outcomeUnfinished} {
			m.signIns.WithLabelValues(method, outcome)
		}
	}
	return m
}
