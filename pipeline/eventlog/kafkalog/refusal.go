package kafkalog

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// explainRefusal adds ErrRefused and advice to err, an error of the first connection, if
// the error is permanent; otherwise it returns err.
//
// Only Open calls it. Later, a broker whose certificate is not trusted counts as down,
// because an operator may be replacing the certificates of several brokers one by one.
func (o *Options) explainRefusal(err error) error {
	var certificate *tls.CertificateVerificationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &certificate):
		return fmt.Errorf("%w: the broker's certificate is not trusted; check the file of the authority and the expected name: %w", ErrRefused, err)
	case isAlert(err):
		return fmt.Errorf("%w: the broker does not accept this client's certificate; check that there is one, that it has not expired and that the broker trusts its authority: %w", ErrRefused, err)
	// The client library has no value for this error.
	case strings.Contains(err.Error(), "expecting TLS"):
		return fmt.Errorf("%w: the broker wants TLS and it is not enabled: %w", ErrRefused, err)
	case errors.Is(classifyError(err), ErrRefused) && o.SASL != nil:
		return fmt.Errorf("%w: check name, password and mechanism (%s) of user %q: %w", ErrRefused, o.SASL.Mechanism, o.SASL.Username, err)
	case errors.Is(classifyError(err), ErrRefused):
		return fmt.Errorf("%w: it gives no user name: %w", ErrRefused, err)
	}
	return err
}

// isAlert reports whether the other side ended the TLS handshake with a reason.
func isAlert(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "remote error" && strings.HasPrefix(failed.Err.Error(), "tls: ")
}

// closedEarly adds advice to an error that only reports that brokers close the
// connection. Brokers do so if they require TLS or a user and the client uses neither, or
// the reverse, and also while they are shutting down.
func closedEarly(err error) error {
	if !errors.Is(err, ErrRefused) && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return fmt.Errorf("brokers close the connection; check whether they want TLS and a user: %w", err)
	}
	return err
}
