package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/quarrysearch/quarry/schemas/account"
)

// form holds the submitted values and their errors. The zero value is an empty form.
type form struct {
	values url.Values
	errors map[string]string // by field; "" is the form as a whole
}

// Get returns the value of a field without surrounding space.
func (f form) Get(name string) string { return strings.TrimSpace(f.values.Get(name)) }

// Secret returns a password as typed.
func (f form) Secret(name string) string { return f.values.Get(name) }

// Has reports whether value is among the values of a field, as of a checked box.
func (f form) Has(name, value string) bool {
	for _, v := range f.values[name] {
		if v == value {
			return true
		}
	}
	return false
}

// Error returns the error of a field; templates call it.
func (f form) Error(name string) string { return f.errors[name] }

func (f *form) addError(name, message string) {
	if f.errors == nil {
		f.errors = map[string]string{}
	}
	if f.errors[name] == "" {
		f.errors[name] = message
	}
}

// input is the data of a field's template.
type input struct {
	Name, Label, Type, Value, Complete, Hint, Error string
	Required, ReadOnly                              bool
	Max                                             int
}

// newInput returns an input with the submitted value and its error. Passwords are not
// shown again.
func (f form) newInput(in input) input {
	if in.Type == "" {
		in.Type = "text"
	}
	if f.values.Has(in.Name) && !in.ReadOnly && in.Type != "password" {
		in.Value = f.values.Get(in.Name)
	}
	in.Error = f.errors[in.Name]
	return in
}

// Errors of forms.
var (
	errFormTooLarge = errors.New("the form is too large")
	errFormSlow     = errors.New("the form arrived too slowly")
	errFormCut      = errors.New("the form is incomplete")
	errFormType     = errors.New("this is not a form of ours")
	errFormStale    = errors.New("this form is from another sign-in; please try again")
)

// readForm reads the form of a POST, and checks the token of a form that belongs to a
// user.
func (s *Server) readForm(w http.ResponseWriter, v *pageRequest) (form, error) {
	r := v.r
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return form{}, errFormType
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	if err := r.ParseForm(); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return form{}, errFormTooLarge
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return form{}, errFormSlow
		case errors.Is(err, io.ErrUnexpectedEOF):
			return form{}, errFormCut
		}
		return form{}, fmt.Errorf("%w: %w", errFormType, err)
	}
	if v.access != accessOpen && !hmac.Equal(unmaskToken(r.PostForm.Get("csrf")), s.formToken(v.user.ID)) {
		return form{}, errFormStale
	}
	return form{values: r.PostForm}, nil
}

// formToken returns the CSRF token of a user's forms. The checks of origin and SameSite
// come first; the token protects if a proxy has removed the headers that they need. It
// belongs to the user and not to the session, so that forms survive a session rotation.
func (s *Server) formToken(user account.UserID) []byte {
	return s.sumOf("quarry form 1 " + string(user))
}

func (s *Server) sumOf(text string) []byte {
	m := hmac.New(sha256.New, s.o.Secret)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// maskToken returns the token for the page at an address: a pad, and the token XORed with
// the pad. The pad is derived from the user and the address, so that an unchanged page
// stays the same, while pages of two queries have no part of the token in common.
func (s *Server) maskToken(r *http.Request, user account.UserID) string {
	pad := s.sumOf("quarry form pad 1 " + string(user) + " " + r.URL.RequestURI())
	return hex.EncodeToString(append(pad, xorBytes(pad, s.formToken(user))...))
}

// unmaskToken returns the token of a form, or nil if it is malformed.
func unmaskToken(masked string) []byte {
	raw, err := hex.DecodeString(masked)
	if err != nil || len(raw) != 2*sha256.Size {
		return nil
	}
	return xorBytes(raw[:sha256.Size], raw[sha256.Size:])
}

// xorBytes returns the XOR of two hashes.
func xorBytes(a, b []byte) []byte {
	out := make([]byte, len(a))
	subtle.XORBytes(out, a, b)
	return out
}
