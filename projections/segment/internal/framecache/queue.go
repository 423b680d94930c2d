package framecache

// queue is a FIFO queue of slots. It never contains more than all slots.
type queue struct {
	ring []uint32
	head int
	n    int
}

func newQueue(slots int) queue { return queue{ring: make([]uint32, slots)} }

func (q *queue) push(i uint32) {
	at := q.head + q.n
	if at >= len(q.ring) {
		at -= len(q.ring)
	}
	q.ring[at] = i
	q.n++
}

func (q *queue) pop() uint32 {
	i := q.ring[q.head]
	if q.head++; q.head == len(q.ring) {
		q.head = 0
	}
	q.n--
	return i
}
