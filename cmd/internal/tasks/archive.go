package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"os"
)

// writeArchive writes a compressed archive of the files that fill adds. Its bytes depend
// only on those files.
func writeArchive(out string, fill func(w *tar.Writer) error) (err error) {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	w := tar.NewWriter(z)
	defer func() { err = errors.Join(err, w.Close(), z.Close(), f.Close()) }()
	return fill(w)
}

// packFile adds a file with the name, mode and time in header.
func packFile(w *tar.Writer, header *tar.Header, text []byte) error {
	header.Size, header.Typeflag = int64(len(text)), tar.TypeReg
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(text)
	return err
}
