package indexer

import (
	"errors"
	"syscall"
)

// isDiskFull reports whether an error is due to a full disk or an exhausted quota, in
// which case every other record would fail as well.
func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
