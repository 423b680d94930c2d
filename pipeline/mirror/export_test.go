package mirror

import "context"

// Reset deletes the bare repository, including the indexed state, and keeps the data
// stored by Save.
func (m *Mirror) Reset(ctx context.Context) error {
	if err := m.lockMirror(ctx); err != nil {
		return err
	}
	defer m.unlockMirror()
	return m.reset()
}
