package deliveries

// ScanAtMost sets the bound of the entries that one call of List reads, and returns a
// function that resets it.
func ScanAtMost(n int) (reset func()) {
	maxScan = n
	return func() { maxScan = MaxScan }
}

// KeepPushes sets the bound of a partition, and returns a function that resets it.
func KeepPushes(n int) (reset func()) {
	maxPushes = n
	return func() { maxPushes = MaxPushes }
}
