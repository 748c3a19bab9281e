package object

import "sync"

// lru keeps the most recently used values of a bounded total cost, in shards
// that are locked separately. It is safe for concurrent use.
type lru[K comparable, V any] struct {
	shardOf func(K) uint8
	shards  [lruShards]lruShard[K, V]
}

const lruShards = 16

type lruShard[K comparable, V any] struct {
	mu   sync.Mutex // guards all below
	max  int64
	cost int64
	// items has every value; the ring through newest holds them by last use.
	items  map[K]*lruItem[K, V]
	newest lruItem[K, V]
}

type lruItem[K comparable, V any] struct {
	prev, next *lruItem[K, V]
	key        K
	value      V
	cost       int64
}

// newLRU bounds the sum of costs by about max.
func newLRU[K comparable, V any](max int64, shardOf func(K) uint8) *lru[K, V] {
	c := &lru[K, V]{shardOf: shardOf}
	for i := range c.shards {
		s := &c.shards[i]
		s.max, s.items = max/lruShards, map[K]*lruItem[K, V]{}
		s.newest.prev, s.newest.next = &s.newest, &s.newest
	}
	return c
}

// fits reports whether a value of a cost is worth its place: one that would
// take more than a quarter of its shard is not kept.
func (c *lru[K, V]) fits(cost int64) bool { return cost <= c.shards[0].max/4 }

func (c *lru[K, V]) get(k K) (V, bool) {
	s := &c.shards[c.shardOf(k)%lruShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	it, ok := s.items[k]
	if !ok {
		var zero V
		return zero, false
	}
	it.unlink()
	it.linkAfter(&s.newest)
	return it.value, true
}

func (c *lru[K, V]) add(k K, v V, cost int64) {
	if !c.fits(cost) {
		return
	}
	s := &c.shards[c.shardOf(k)%lruShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.items[k]; ok {
		return
	}
	it := &lruItem[K, V]{key: k, value: v, cost: cost}
	s.items[k] = it
	it.linkAfter(&s.newest)
	for s.cost += cost; s.cost > s.max; {
		oldest := s.newest.prev
		oldest.unlink()
		delete(s.items, oldest.key)
		s.cost -= oldest.cost
	}
}

func (it *lruItem[K, V]) unlink() { it.prev.next, it.next.prev = it.next, it.prev }

func (it *lruItem[K, V]) linkAfter(at *lruItem[K, V]) {
	it.prev, it.next = at, at.next
	at.next.prev, at.next = it, it
}
