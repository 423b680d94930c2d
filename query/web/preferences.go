package web

import (
	"net/http"
	"net/url"
	"slices"
)

// preferencesCookie stores a browser's display preferences. It is a cookie, and not part
// of the account, so that the first byte of a page already depends on it, and because
// preferences differ between machines.
const preferencesCookie = "quarry_preferences"

// preference is an option of the reader. Its first value is the default, and is not
// stored in the cookie.
type preference struct {
	Name   string
	Values []string
}

// preferenceList contains every preference. Unlisted values are ignored.
var preferenceList = []preference{
	{"theme", []string{"system", "light", "dark", "contrast"}},
	{"density", []string{"normal", "compact"}},
	{"keys", []string{"on", "off"}},
}

// preferences are the chosen values by name, without defaults.
type preferences map[string]string

// readPreferences reads the cookie of a request.
func readPreferences(r *http.Request) preferences {
	c, err := r.Cookie(preferencesCookie)
	if err != nil {
		return nil
	}
	values, err := url.ParseQuery(c.Value)
	if err != nil {
		return nil
	}
	return choosePreferences(values)
}

// choosePreferences returns the known values that are not the default.
func choosePreferences(values url.Values) preferences {
	chosen := preferences{}
	for _, p := range preferenceList {
		if i := slices.Index(p.Values, values.Get(p.Name)); i > 0 {
			chosen[p.Name] = p.Values[i]
		}
	}
	return chosen
}

// preferenceRow is a preference on its page.
type preferenceRow struct {
	Name, Title string
	Options     []preferenceOption
}

type preferenceOption struct {
	Value, Title string
	Chosen       bool
}

// preferencesPage shows the preferences. It requires no account.
func (s *Server) preferencesPage(w http.ResponseWriter, v *pageRequest) error {
	chosen := readPreferences(v.r)
	var rows []preferenceRow
	for _, p := range preferenceList {
		row := preferenceRow{Name: p.Name, Title: s.texts.mustFormat("preferences_" + p.Name)}
		for i, value := range p.Values {
			row.Options = append(row.Options, preferenceOption{
				Value: value, Title: s.texts.mustFormat("preferences_" + p.Name + "_" + value),
				Chosen: chosen[p.Name] == value || i == 0 && chosen[p.Name] == "",
			})
		}
		rows = append(rows, row)
	}
	return s.renderPage(w, v, view{template: "preferences", title: s.texts.mustFormat("preferences"), data: struct {
		Rows   []preferenceRow
		Return string
	}{rows, returnPath(v.r.URL.Query().Get("return"))}})
}

// savePreferences stores the preferences in the browser and redirects back.
func (s *Server) savePreferences(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	values := url.Values{}
	for name, value := range choosePreferences(url.Values(f.values)) {
		values.Set(name, value)
	}
	const year = 365 * 24 * 60 * 60
	http.SetCookie(w, &http.Cookie{
		Name: preferencesCookie, Value: values.Encode(), Path: s.public.CookiePath(), MaxAge: year, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.public.IsSecure(),
	})
	seeOther(w, v, returnPath(f.Get("return")))
	return nil
}
