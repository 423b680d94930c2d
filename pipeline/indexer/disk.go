package indexer

import (
	"errors"
	"syscall"
)

// isDiskFull reports whether an error comes from a full disk or an exhausted
// quota: every other record would fail alike until there is room.
func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
