package bitset

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOperationsAgreeWithSlices compares the operations with those on slices of booleans,
// for sizes around the words of a set.
func TestOperationsAgreeWithSlices(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for size := 1; size <= 200; size++ {
		inA, inB := make([]bool, size), make([]bool, size)
		a, b := New(size), New(size)
		for i := range size {
			if inA[i] = rng.IntN(3) == 0; inA[i] {
				a.Add(i)
			}
			if inB[i] = rng.IntN(3) == 0; inB[i] {
				b.Add(i)
			}
		}
		both, either, rest := Intersection(a, b), Union(a, b), Complement(a)
		count, next := 0, -1
		for i := size - 1; i >= 0; i-- {
			if inA[i] {
				count, next = count+1, i
			}
			got := []bool{a.Has(i), both.Has(i), either.Has(i), rest.Has(i), a.Next(i) == next}
			if want := []bool{inA[i], inA[i] && inB[i], inA[i] || inB[i], !inA[i], true}; !slices.Equal(got, want) {
				t.Fatalf("size %d, number %d: member of a, both, either, complement, and Next agrees: %v, want %v", size, i, got, want)
			}
		}
		if a.Count() != count || a.Next(64*len(a)) != -1 {
			t.Fatalf("size %d: %d members, want %d; %d follows the largest number", size, a.Count(), count, a.Next(64*len(a)))
		}
	}
}

// TestAddRange adds a random range to a set that has other numbers.
func TestAddRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for range 2000 {
		from, other := rng.IntN(200), rng.IntN(200)
		to := from + rng.IntN(201-from)
		s := New(200)
		s.Add(other)
		s.AddRange(from, to)
		for i := range 200 {
			if got, want := s.Has(i), i == other || i >= from && i < to; got != want {
				t.Fatalf("%d and the range from %d to %d: %d is a member: %v, want %v", other, from, to, i, got, want)
			}
		}
	}
}

// TestNilMeansAllNumbers checks the operations on a set that is nil.
func TestNilMeansAllNumbers(t *testing.T) {
	a := New(10)
	a.Add(3)
	if !slices.Equal(Intersection(a, nil), a) || !slices.Equal(Intersection(nil, a), a) {
		t.Fatal("the intersection with all numbers is not the set")
	}
	if Union(a, nil) != nil || Union(nil, a) != nil {
		t.Fatal("the union with all numbers is not all numbers")
	}
}
