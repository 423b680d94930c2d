package lru_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/schemas/lru"
)

// TestCache compares a cache with a list of its entries, most recently used first, after
// each of many random operations.
func TestCache(t *testing.T) {
	type kept struct {
		key, value int
		weight     int64
	}
	const limit = 20
	random := rand.New(rand.NewPCG(1, 2))
	cache := lru.New[int, int](limit)
	var model []kept
	find := func(key int) int { return slices.IndexFunc(model, func(k kept) bool { return k.key == key }) }
	for step := range 20_000 {
		key := random.IntN(12)
		i := find(key)
		switch random.IntN(5) {
		case 0, 1:
			value, ok := cache.Get(key)
			if ok != (i >= 0) || ok && value != model[i].value {
				t.Fatalf("step %d: Get(%d) is %d, %v; the model has %v", step, key, value, ok, model)
			}
			if i >= 0 {
				used := model[i]
				model = slices.Insert(slices.Delete(model, i, i+1), 0, used)
			}
		case 2, 3:
			k := kept{key, step, random.Int64N(limit + 3)}
			cache.Put(k.key, k.value, k.weight)
			if i >= 0 {
				model = slices.Delete(model, i, i+1)
			}
			if k.weight <= limit {
				model = slices.Insert(model, 0, k)
			}
			for sum(model, func(k kept) int64 { return k.weight }) > limit {
				model = model[:len(model)-1]
			}
		case 4:
			cache.Delete(key)
			if i >= 0 {
				model = slices.Delete(model, i, i+1)
			}
		}
		weight := sum(model, func(k kept) int64 { return k.weight })
		if cache.Len() != len(model) || cache.Weight() != weight || weight > limit {
			t.Fatalf("step %d: %d values of weight %d, want %d of weight %d", step, cache.Len(), cache.Weight(), len(model), weight)
		}
	}
}

func sum[T any](all []T, f func(T) int64) (total int64) {
	for _, v := range all {
		total += f(v)
	}
	return total
}
