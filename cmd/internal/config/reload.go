package config

import "reflect"

// isReloadable reports whether a running process applies a setting at SIGHUP.
func isReloadable(f reflect.StructField) bool { return f.Tag.Get("reload") == "true" }

// Diff returns the paths of the settings in which c and other differ, separated into
// those that a running process can apply and those that need a restart.
func (c *Config) Diff(other *Config) (reload, restart []string) {
	compareFields(reflect.ValueOf(c).Elem(), reflect.ValueOf(other).Elem(), "", func(path string, f reflect.StructField, _, _ reflect.Value) {
		if isReloadable(f) {
			reload = append(reload, path)
		} else {
			restart = append(restart, path)
		}
	})
	return reload, restart
}

// Reload applies the settings of other that can change in a running process.
func (c *Config) Reload(other *Config) {
	compareFields(reflect.ValueOf(c).Elem(), reflect.ValueOf(other).Elem(), "", func(_ string, f reflect.StructField, mine, theirs reflect.Value) {
		if isReloadable(f) {
			mine.Set(theirs)
		}
	})
}

// compareFields calls differ for each setting, and each list of sections, that differs
// between a and b.
func compareFields(a, b reflect.Value, prefix string, differ func(path string, f reflect.StructField, a, b reflect.Value)) {
	for i := range a.NumField() {
		f := a.Type().Field(i)
		path := prefix + f.Tag.Get("yaml")
		switch {
		case kindOf(f.Type) == "section":
			compareFields(a.Field(i), b.Field(i), path+".", differ)
		case !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()):
			differ(path, f, a.Field(i), b.Field(i))
		}
	}
}
