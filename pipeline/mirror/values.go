package mirror

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// errDamagedValue means that the checksum of a stored file does not match.
var errDamagedValue = errors.New("the stored value is damaged")

// saveValue stores a value, as JSON with a checksum, in a file next to the mirror. It does
// not sync.
func (m *Mirror) saveValue(name string, value any) error {
	b, err := json.Marshal(value)
	if err == nil {
		err = writeFile(filepath.Join(m.dir, name), withChecksum(b))
	}
	if err != nil {
		return m.wrapError("save", err)
	}
	return nil
}

// loadValue reads the value that saveValue stored. It fails with fs.ErrNotExist if there
// is none, and with errDamagedValue if the checksum does not match.
func (m *Mirror) loadValue(name string, value any) error {
	b, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil {
		return err
	}
	text, intact := checkedText(b)
	if !intact {
		return fmt.Errorf("%s: %w", name, errDamagedValue)
	}
	return json.Unmarshal(text, value)
}
