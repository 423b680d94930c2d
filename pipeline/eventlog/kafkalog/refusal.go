package kafkalog

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// explainRefusal returns an error that wraps ErrRefused and says what to check, if err,
// of a first connection, is one that does not pass by itself; else err.
//
// It is called in Open only. Later a certificate that is not trusted counts as a
// broker that is down: the certificates of several brokers may be being replaced
// one by one.
func (o *Options) explainRefusal(err error) error {
	var certificate *tls.CertificateVerificationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &certificate):
		return fmt.Errorf("%w: the broker's certificate is not trusted; check the file of the authority and the expected name: %w", ErrRefused, err)
	case isAlert(err):
		return fmt.Errorf("%w: the broker does not accept this client's certificate; check that there is one, that it has not expired and that the broker trusts its authority: %w", ErrRefused, err)
	// The client library has no value for it.
	case strings.Contains(err.Error(), "expecting TLS"):
		return fmt.Errorf("%w: the broker wants TLS and it is not enabled: %w", ErrRefused, err)
	case errors.Is(classifyError(err), ErrRefused) && o.SASL != nil:
		return fmt.Errorf("%w: check name, password and mechanism (%s) of user %q: %w", ErrRefused, o.SASL.Mechanism, o.SASL.Username, err)
	case errors.Is(classifyError(err), ErrRefused):
		return fmt.Errorf("%w: it gives no user name: %w", ErrRefused, err)
	}
	return err
}

// isAlert reports whether the other side ended the TLS handshake and said why.
func isAlert(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "remote error" && strings.HasPrefix(failed.Err.Error(), "tls: ")
}

// closedEarly adds what to check to an error that says only that brokers close
// the connection: so do those that want TLS or a user where there is none, or
// the reverse, and those that are just stopping.
func closedEarly(err error) error {
	if !errors.Is(err, ErrRefused) && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return fmt.Errorf("brokers close the connection; check whether they want TLS and a user: %w", err)
	}
	return err
}
