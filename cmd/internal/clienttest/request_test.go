package clienttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var placeholderPattern = regexp.MustCompile(`\{(\w+)\}`)

// credentialHeader returns the header for the credential in a variable: a cookie, an API
// key or a token.
func (r *run) credentialHeader(name string) map[string]string {
	if name == "" {
		return nil
	}
	value := fmt.Sprint(r.vars[name])
	switch {
	case strings.HasPrefix(value, "quarry_session="):
		return map[string]string{"Cookie": value}
	case strings.HasSuffix(name, "Key"):
		return map[string]string{r.keyName: value}
	}
	return map[string]string{"Authorization": "Bearer " + value}
}

// newInstruction converts a call to an instruction for drivers.
func (r *run) newInstruction(c *call, path string) *instruction {
	out := &instruction{Operation: c.Operation, Credential: r.credentialHeader(c.As), Parameters: c.Query, Headers: c.Header, Body: c.Body, Bytes: c.Bytes, Lax: c.Lax}
	for _, m := range placeholderPattern.FindAllStringSubmatch(path, -1) {
		out.Path = append(out.Path, argument{m[1], c.Path[m[1]]})
	}
	return out
}

// sendPlain sends a call without a generated client.
func (r *run) sendPlain(c *call, path, method string) error {
	address := r.url + placeholderPattern.ReplaceAllStringFunc(path, func(name string) string {
		return url.PathEscape(fmt.Sprint(c.Path[strings.Trim(name, "{}")]))
	})
	query := make(url.Values)
	for name, value := range c.Query {
		query.Set(name, fmt.Sprint(value))
	}
	body, err := json.Marshal(c.Body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, address+"?"+query.Encode(), strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range r.credentialHeader(c.As) {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// matchesTemplate reports whether a path matches a path template.
func matchesTemplate(template, path string) bool {
	want, have := strings.Split(template, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, have, func(w, h string) bool { return w == h || strings.HasPrefix(w, "{") && h != "" })
}

// parseNumbers decodes JSON and keeps the spelling of its numbers.
func parseNumbers(text string) (any, error) {
	if text == "" {
		return nil, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}
