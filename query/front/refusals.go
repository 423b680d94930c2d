package front

import (
	"sync"
	"time"

	"github.com/quarrysearch/quarry/query/front/internal/pace"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/network"
)

// refusalThrottle keeps a flood of refused requests from flooding the audit log.
type refusalThrottle struct {
	pace *pace.Table
	mu   struct {
		sync.Mutex
		// suppressed counts, by address, the refusals since the last recorded one.
		// It is cleared when it has maxSuppressed addresses.
		suppressed map[string]int64
	}
}

// maxSuppressed bounds the addresses whose suppressed records are counted.
const maxSuppressed = 4096

func newRefusalThrottle() *refusalThrottle {
	f := &refusalThrottle{pace: pace.New(maxCallers)}
	f.mu.suppressed = map[string]int64{}
	return f
}

// allAddresses is the key under which the records of all addresses are counted.
// Otherwise an attacker with many addresses could fill the disk: a record is about
// 500 bytes in all.
const allAddresses = "everybody"

// admitRecord reports whether a refusal is recorded, and how many before it, of the same
// address or beyond the limit of all, were not.
func (f *refusalThrottle) admitRecord(x *Exchange, now time.Time) (suppressed int64, wanted bool) {
	key := network.ClientNetwork(x.address)
	wanted = x.refusal == audit.CredentialRefused || f.pace.Take(key, refusalRecords, 1, now).Allowed
	if wanted && !f.pace.Take(allAddresses, allRefusalRecords, 1, now).Allowed {
		key, wanted = allAddresses, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if wanted {
		suppressed = f.mu.suppressed[key] + f.mu.suppressed[allAddresses]
		delete(f.mu.suppressed, key)
		delete(f.mu.suppressed, allAddresses)
		return suppressed, true
	}
	if len(f.mu.suppressed) >= maxSuppressed {
		clear(f.mu.suppressed)
	}
	f.mu.suppressed[key]++
	return 0, false
}
