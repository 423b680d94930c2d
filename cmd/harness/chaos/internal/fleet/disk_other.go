//go:build !linux

package fleet

func mountDisk(string, int64) (*Disk, error) { return nil, ErrNoDisk }

// Fill does nothing, because this system supports no such disk.
func (d *Disk) Fill(int64) error { return nil }

// Close does nothing.
func (d *Disk) Close() error { return nil }
