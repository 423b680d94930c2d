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
		// suppressed counts, by address, the refusals since the last recorded one. It is
		// cleared when it reaches maxSuppressed addresses.
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

// allAddresses is the key for the records of all addresses together. Without that limit,
// an attacker with many addresses could fill the disk: a record takes about 500 bytes.
const allAddresses = "everybody"

// admitRecord reports whether a refusal is recorded, and how many earlier ones, of the
// same address or beyond the limit of all addresses, were not.
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
