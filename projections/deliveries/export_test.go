package deliveries

// KeepPushes sets the bound of a partition, and returns what sets it back.
func KeepPushes(n int) (reset func()) {
	maxPushes = n
	return func() { maxPushes = MaxPushes }
}
