package mirror

import "context"

// Reset deletes the bare repository and keeps what Save stored. The indexed state
// goes too.
func (m *Mirror) Reset(ctx context.Context) error {
	if err := m.lockMirror(ctx); err != nil {
		return err
	}
	defer m.unlockMirror()
	return m.reset()
}
