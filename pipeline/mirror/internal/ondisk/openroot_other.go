//go:build !linux

package ondisk

import "os"

func openRoot(root *os.Root, name string) (*os.Root, error) { return root.OpenRoot(name) }
