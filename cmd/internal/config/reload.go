package config

import "reflect"

// reloads reports whether a running process takes a setting over at SIGHUP.
func reloads(f reflect.StructField) bool { return f.Tag.Get("reload") == "true" }

// Diff returns the paths of the settings in which c and other differ: those that a
// running process takes over, and those that want a restart.
func (c *Config) Diff(other *Config) (reload, restart []string) {
	compare(reflect.ValueOf(c).Elem(), reflect.ValueOf(other).Elem(), "", func(path string, f reflect.StructField, _, _ reflect.Value) {
		if reloads(f) {
			reload = append(reload, path)
		} else {
			restart = append(restart, path)
		}
	})
	return reload, restart
}

// Reload takes over from other what a running process can change.
func (c *Config) Reload(other *Config) {
	compare(reflect.ValueOf(c).Elem(), reflect.ValueOf(other).Elem(), "", func(_ string, f reflect.StructField, mine, theirs reflect.Value) {
		if reloads(f) {
			mine.Set(theirs)
		}
	})
}

// compare calls differ for each setting, and each list of sections, in which a and b
// differ.
func compare(a, b reflect.Value, prefix string, differ func(path string, f reflect.StructField, a, b reflect.Value)) {
	for i := range a.NumField() {
		f := a.Type().Field(i)
		path := prefix + f.Tag.Get("yaml")
		switch {
		case kindOf(f.Type) == "section":
			compare(a.Field(i), b.Field(i), path+".", differ)
		case !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()):
			differ(path, f, a.Field(i), b.Field(i))
		}
	}
}
