package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// verifyPath is the page that compares the index with the repositories. Results are not
// stored: the page shows a verification while it runs.
const verifyPath = "/admin/verify"

const (
	// maxShownFrames bounds the differences that the page shows; the summary counts all
	// of them.
	maxShownFrames = 1000
	// progressEvery is the minimum time between two progress updates. It grows to a
	// hundredth of the elapsed time, so that a page that takes a day has some thousand
	// updates.
	progressEvery = time.Second
	// maxVerifiedBytes bounds the names of the repositories to compare.
	maxVerifiedBytes = 4096
)

// verificationForm is the data of the page before a verification.
type verificationForm struct {
	Repositories   input
	Remote, Repair bool
}

func (s *Server) verifyPage(w http.ResponseWriter, v *pageRequest) error {
	return s.showVerifyForm(w, v, form{}, 0)
}

func (s *Server) showVerifyForm(w http.ResponseWriter, v *pageRequest, f form, status int) error {
	d := verificationForm{Remote: f.Has("remote", "1"), Repair: f.Has("repair", "1"), Repositories: f.newInput(input{
		Name: "repositories", Label: s.texts.mustFormat("verify_repositories"), Hint: s.texts.mustFormat("verify_repositories_hint"), Complete: "off", Max: maxVerifiedBytes,
	})}
	return s.renderPage(w, v, view{template: "verify", title: s.texts.mustFormat("verify"), status: status, form: f, data: d})
}

// showVerification runs a verification as the visitor and sends each difference as it is
// found. It ends when the browser disconnects.
func (s *Server) showVerification(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	request := wire.VerificationRequest{Repositories: strings.Fields(f.Get("repositories")), Remote: f.Has("remote", "1"), Repair: f.Has("repair", "1")}
	out := &verificationWriter{s: s, w: w, v: v, parts: s.newPartWriter(w, v.r), started: s.o.Now()}
	defer out.parts.endPage()
	for frame, err := range s.clientOf(v, streamInProcess{inProcess{s.o.API, v.r}}).Verify(v.r.Context(), request) {
		if err != nil && !out.parts.begun {
			return s.showRefusal(w, v, f, err, s.showVerifyForm)
		}
		if err != nil {
			err = out.sendFailure(err)
		} else {
			err = out.sendFrame(frame)
		}
		if err != nil {
			return nil //nolint:nilerr // the browser has gone, and the verification ends with it
		}
	}
	if !out.parts.begun {
		return errors.New("web: a verification without a frame")
	}
	_ = out.sendPart("verified", out)
	_ = out.sendPart("close", out.frame)
	return nil
}

// verificationWriter writes one page of a verification.
type verificationWriter struct {
	s       *Server
	w       http.ResponseWriter
	v       *pageRequest
	parts   *partWriter
	frame   *frame
	started time.Time
	moved   time.Time // time of the last progress update

	Shown, Left int // differences and uncompared repositories: on the page, and beyond its bound
}

// sendPart sends a part of the page immediately.
func (o *verificationWriter) sendPart(template string, data any) error {
	var b bytes.Buffer
	if o.frame == nil {
		o.frame = o.s.newFrame(o.v, &view{title: o.s.texts.mustFormat("verify")})
		for _, part := range []string{"open", "verifying"} {
			if err := o.s.templates.execute(&b, "verify", part, o.frame); err != nil {
				return fmt.Errorf("web: render a verification: %w", err)
			}
		}
	}
	if err := o.s.templates.execute(&b, "verify", template, data); err != nil {
		return fmt.Errorf("web: render a verification: %w", err)
	}
	return o.parts.writePart(b.Bytes())
}

// sendFrame sends one frame: differences up to a bound, and the progress from time to
// time.
func (o *verificationWriter) sendFrame(f *wire.VerificationFrame) error {
	switch f.Type {
	case wire.VerificationFrameTypeProgress:
		now := o.s.o.Now()
		if !o.moved.IsZero() && now.Sub(o.moved) < max(progressEvery, now.Sub(o.started)/100) {
			return nil
		}
		o.moved = now
	case wire.VerificationFrameTypeDifference, wire.VerificationFrameTypeUnchecked:
		if o.Shown >= maxShownFrames {
			o.Left++
			return nil
		}
		o.Shown++
	case wire.VerificationFrameTypeSummary, wire.VerificationFrameTypeRepair, wire.VerificationFrameTypeNode:
	default:
		return nil
	}
	return o.sendPart("frame", verificationRow{f, o.s.texts})
}

// sendFailure explains why a verification ended early. The parts already sent stay.
func (o *verificationWriter) sendFailure(err error) error {
	text := o.s.explainError(o.w, o.v, err).text
	return o.sendPart("broken", text)
}

// verificationRow is a frame with its remedy.
type verificationRow struct {
	*wire.VerificationFrame
	texts *texts
}

// Remedy returns what corrects a difference; templates call it.
func (r verificationRow) Remedy() string {
	if r.Type != wire.VerificationFrameTypeDifference {
		return ""
	}
	switch r.Kind {
	case wire.VerificationFrameKindRepository:
		return r.texts.mustFormat("verify_remedy_replay")
	case wire.VerificationFrameKindRemote:
		return r.texts.mustFormat("verify_remedy_refresh")
	case wire.VerificationFrameKindUnheld, wire.VerificationFrameKindUnstored, wire.VerificationFrameKindBroken,
		wire.VerificationFrameKindCommit, wire.VerificationFrameKindAbsent, wire.VerificationFrameKindExtra, wire.VerificationFrameKindDefault:
		return r.texts.mustFormat("verify_remedy_reindex")
	}
	return r.texts.mustFormat("verify_remedy_rows")
}

// streamInProcess is inProcess for responses that are read while they are written.
type streamInProcess struct{ inProcess }

// RoundTrip implements http.RoundTripper. It returns once the header is written; closing
// the body ends the operation and waits for its end.
func (t streamInProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	body, out := io.Pipe()
	w := &streamedAnswer{header: http.Header{}, out: out, begun: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if recover() != nil { // the API has logged it, and requires the connection to be cut off
				w.WriteHeader(http.StatusInternalServerError)
				_ = out.CloseWithError(io.ErrUnexpectedEOF)
			}
		}()
		t.api.ServeHTTP(w, t.asVisitor(r))
		w.WriteHeader(http.StatusOK)
		_ = out.Close()
	}()
	<-w.begun
	return newAnswer(r, w.status, w.sent, streamedBody{body, ended}, -1), nil
}

// streamedAnswer passes on the output of a handler.
type streamedAnswer struct {
	header http.Header
	// status and sent, the header as it was sent, are valid once begun is closed.
	status int
	sent   http.Header
	begun  chan struct{}
	out    *io.PipeWriter
}

// Header implements http.ResponseWriter.
func (a *streamedAnswer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *streamedAnswer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status, a.sent = status, a.header.Clone()
		close(a.begun)
	}
}

// Write implements http.ResponseWriter.
func (a *streamedAnswer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.out.Write(b)
}

// streamedBody is the body of a streamedAnswer.
type streamedBody struct {
	*io.PipeReader
	ended <-chan struct{}
}

// Close implements io.Closer.
func (b streamedBody) Close() error {
	err := b.PipeReader.Close()
	<-b.ended
	return err
}
