package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/quarrysearch/quarry/schemas/account"
)

// form is what was typed and what is wrong with it. The zero value is an empty one.
type form struct {
	values url.Values
	errors map[string]string // by field; "" is the form as a whole
}

// Get returns what was typed into a field, without space around it.
func (f form) Get(name string) string { return strings.TrimSpace(f.values.Get(name)) }

// Secret returns a password as it was typed.
func (f form) Secret(name string) string { return f.values.Get(name) }

// Has reports whether value is among those of a field: a box that is ticked.
func (f form) Has(name, value string) bool {
	for _, v := range f.values[name] {
		if v == value {
			return true
		}
	}
	return false
}

// Error returns what is wrong with a field; templates call it.
func (f form) Error(name string) string { return f.errors[name] }

func (f *form) addError(name, message string) {
	if f.errors == nil {
		f.errors = map[string]string{}
	}
	if f.errors[name] == "" {
		f.errors[name] = message
	}
}

// input is a field as its template wants it.
type input struct {
	Name, Label, Type, Value, Complete, Hint, Error string
	Required, ReadOnly                              bool
	Max                                             int
}

// newInput returns an input with what was typed and what is wrong with it. Passwords
// are not shown again.
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
	errFormType     = errors.New("this is not a form of ours")
	errFormStale    = errors.New("this form is from another sign-in; please try again")
)

// readForm reads the form of a POST, and checks the token of a form that belongs to
// a user.
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
		return form{}, fmt.Errorf("%w: %w", errFormType, err)
	}
	if v.access != accessOpen && !hmac.Equal([]byte(r.PostForm.Get("csrf")), []byte(s.formToken(v.user.ID))) {
		return form{}, errFormStale
	}
	return form{values: r.PostForm}, nil
}

// formToken is the CSRF token of a user's forms. The checks of origin and SameSite
// come first; the token protects where a proxy has removed the headers that they
// need. It belongs to the user and not to the session, so that forms outlive a
// session rotation.
func (s *Server) formToken(user account.UserID) string {
	m := hmac.New(sha256.New, s.o.Secret)
	m.Write([]byte("quarry form 1 " + user))
	return hex.EncodeToString(m.Sum(nil))
}
