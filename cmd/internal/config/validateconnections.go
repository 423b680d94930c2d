package config

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// These are the bounds of connections.
const (
	// maxConnections bounds the number of connections. Each costs a route and its
	// secrets.
	maxConnections = 1000
	// maxTargets bounds each list of discover and exclude.
	maxTargets = 10_000
	// maxTargetBytes bounds each value in these lists.
	maxTargetBytes = 2048
)

func (c *Config) validateDiscovery(report reporter) {
	for _, n := range []struct {
		path         string
		value, least int
	}{
		{"discovery.concurrency", c.Discovery.Concurrency, 1},
		{"discovery.maxRepositories", c.Discovery.MaxRepositories, 1},
		{"discovery.requestTimeout in nanoseconds", int(c.Discovery.RequestTimeout), 1},
	} {
		if n.value < n.least {
			report(n.path, "%d is too small: at least %d", n.value, n.least)
		}
	}
}

func (c *Config) validateConnections(report reporter) {
	if len(c.Connections) > maxConnections {
		report("connections", "%d of them: at most %d", len(c.Connections), maxConnections)
	}
	seen := map[string]bool{}
	for i := range c.Connections {
		connection, path := &c.Connections[i], fmt.Sprintf("connections[%d]", i)
		switch {
		case !nameForm.MatchString(connection.Name):
			report(path+".name", "%.80q: want 1 to 64 letters, digits, dashes or underscores", connection.Name)
		case seen[connection.Name]:
			report(path+".name", "%q is given twice", connection.Name)
		}
		seen[connection.Name] = true
		connection.validate(path, report)
		if name := connection.Permissions.Provider; name != "" && !slices.ContainsFunc(c.Access.OIDC, func(p OIDC) bool { return p.Name == name }) {
			report(path+".permissions.provider", "access.oidc has no provider %.80q", name)
		}
	}
}

func (c *Connection) validate(path string, report reporter) {
	if !c.Hooked() && !c.Discovers() {
		report(path+".secrets", "at least one is needed: unsigned deliveries are refused; or set discover")
	}
	if len(c.Addresses) > 0 && c.Kind != "gerrit" {
		report(path+".addresses", "%s signs its deliveries: set secrets; addresses are for gerrit", c.Kind)
	}
	checkAddresses(path+".addresses", c.Addresses, report)
	kind, _ := reflect.TypeFor[Connection]().FieldByName("Kind")
	if want := allowedValues(kind); !slices.Contains(want, string(c.Kind)) {
		report(path+".kind", "%q is not one of %s", c.Kind, strings.Join(want, ", "))
		return
	}
	checkBaseURL(path+".url", c.URL, report)
	checkBaseURL(path+".webUrl", c.WebURL, report)
	if c.WebURL != "" && c.Kind != "gitlab" {
		report(path+".webUrl", "%s does not have it; it is for gitlab", c.Kind)
	}
	if c.Token.inPlace() {
		report(path+".token", "a token is never given in place: write env:NAME or file:PATH")
	}
	if c.App.PrivateKey.inPlace() {
		report(path+".app.privateKey", "a key is never given in place: write env:NAME or file:PATH")
	}
	c.validateClone(path, report)
	c.validateApp(path, report)
	checkKinds(path+".discover", string(c.Kind), reflect.ValueOf(c.Discover), report)
	checkKinds(path+".exclude", string(c.Kind), reflect.ValueOf(c.Exclude), report)
	checkKinds(path+".permissions", string(c.Kind), reflect.ValueOf(c.Permissions), report)
	c.validatePermissions(path+".permissions", report)
	if c.Exclude.MaxSize != 0 && c.Exclude.MaxSize < c.Exclude.MinSize {
		report(path+".exclude.maxSize", "it is below minSize: nothing is left")
	}
	if len(c.Discover.Topics) > 0 && !c.Discovers() {
		report(path+".discover.topics", "topics select among what other keys find: set one of them as well")
	}
}

// CheckDiscovery returns what is wrong with a connection that only discovers, without the credentials.
func (c *Connection) CheckDiscovery() error {
	var wrong []error
	c.validate("", func(path, format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("%s: %s", strings.TrimPrefix(path, "."), fmt.Sprintf(format, args...)))
	})
	return errors.Join(wrong...)
}

// checkBaseURL reports a base URL of a host that cannot be one. It may be empty.
func checkBaseURL(path, text string, report reporter) {
	if text == "" {
		return
	}
	// Neither the URL nor its error is shown: it may hold a password.
	if u, err := url.Parse(text); err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		report(path, "want the base URL of the host without a user, such as https://git.example.org")
	}
}

func (c *Connection) validatePermissions(path string, report reporter) {
	p := &c.Permissions
	switch {
	case !p.Read:
		if *p != (Permissions{}) {
			report(path+".read", "the other keys have no effect without it")
		}
	case !c.Discovers():
		report(path+".read", "permissions are read for repositories that discover finds: set it")
	case c.Token.IsZero() && c.App.ID == 0:
		report(path+".read", "reading permissions needs a token or an app; docs/connections.md has the least scopes")
	case p.Provider == "" && !p.Emails:
		report(path+".provider", "users cannot be matched with users of the host: set provider")
	case p.EffectiveInterval() < minPermissionsInterval:
		report(path+".interval", "%s is too short: at least %s", p.Interval.Std(), minPermissionsInterval.Std())
	case p.EffectiveMaxAge() < 2*p.EffectiveInterval():
		report(path+".maxAge", "%s is too short: at least twice interval, or one late reading revokes all access", p.MaxAge.Std())
	}
}

func (c *Connection) validateApp(path string, report reporter) {
	switch given := c.App.ID != 0 || c.App.Installation != 0 || !c.App.PrivateKey.IsZero(); {
	case !given:
		if c.Kind == "github" && c.Discover.All {
			report(path+".discover.all", "github: all means the repositories of an app's installation; set app, or name users and orgs")
		}
	case c.Kind != "github":
		report(path+".app", "%s has no GitHub Apps", c.Kind)
	case c.App.ID <= 0 || c.App.Installation < 0 || c.App.PrivateKey.IsZero():
		report(path+".app", "want id and privateKey")
	case !c.Token.IsZero():
		report(path+".app", "give either token or app")
	}
}

// checkKinds reports keys of a section that the kind of code host does not support, and
// lists that are too long.
func checkKinds(path, kind string, section reflect.Value, report reporter) {
	for i := range section.NumField() {
		f, v := section.Type().Field(i), section.Field(i)
		if v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
			continue
		}
		key := path + "." + f.Tag.Get("yaml")
		if kinds := strings.Split(f.Tag.Get("kinds"), ","); !slices.Contains(kinds, kind) {
			report(key, "%s does not have it; it is for %s", kind, strings.Join(kinds, ", "))
			continue
		}
		values, ok := v.Interface().([]string)
		if !ok {
			continue
		}
		if len(values) > maxTargets {
			report(key, "%d of them: at most %d", len(values), maxTargets)
		}
		for _, value := range values {
			if value == "" || len(value) > maxTargetBytes {
				report(key, "%.80q: want 1 to %d bytes", value, maxTargetBytes)
				break
			}
		}
	}
}
