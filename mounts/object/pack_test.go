package object

import (
	"bytes"
	"encoding/binary"
	"testing"

	"carrel.dev/workspace"
)

// packBytes is a small pack with its index, of a blob, a tree and a commit.
func packBytes(t testing.TB) (pack, idx []byte, ids []workspace.OID) {
	t.Helper()
	var out bytes.Buffer
	pool := NewPool(0, 0)
	w, err := newPackWriter(pool, &out, 3)
	if err != nil {
		t.Fatal(err)
	}
	for typ, content := range map[Type]string{
		TypeBlob: "hello, world: this is content that compresses, compresses, compresses",
		TypeTree: string(raw("100644 a")), TypeCommit: "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\n",
	} {
		id, err := pool.ID(typ, []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		if err := w.add(id, typ, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := w.close()
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), w.index(sum), ids
}

func TestApplyDelta(t *testing.T) {
	from := bytes.Repeat([]byte("0123456789abcdef"), 5000)
	size := func(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }
	head := func(to int) []byte { return append(size(len(from)), size(to)...) }
	tests := []struct {
		name  string
		delta []byte
		want  string
		ok    bool
	}{
		{"copy", append(head(4), 0x91, 2, 4), "2345", true},
		{"insert", append(head(2), 2, 'x', 'y'), "xy", true},
		{"both", append(head(5), 1, 'x', 0x91, 0, 4), "x0123", true},
		{"copy of 64 KiB", append(head(0x10000), 0x80), string(from[:0x10000]), true},
		{"other base", append(append(size(3), size(1)...), 1, 'x'), "", false},
		{"beyond the base", append(head(4), 0x9f, 0xff, 0xff, 0xff, 0xff, 4), "", false},
		{"too much", append(head(1), 2, 'x', 'y'), "", false},
		{"too little", append(head(3), 2, 'x', 'y'), "", false},
		{"reserved", append(head(1), 0, 'x'), "", false},
		{"cut", append(head(2), 2, 'x'), "", false},
		{"cut copy", append(head(2), 0x9f, 1), "", false},
		{"lying size", append(head(1<<40), 1, 'x'), "", false},
		{"nothing", nil, "", false},
	}
	for _, tt := range tests {
		got, err := applyDelta(from, tt.delta)
		if (err == nil) != tt.ok || tt.ok && string(got) != tt.want {
			t.Errorf("%s: got %.20q, %v", tt.name, got, err)
		}
	}
}

func TestLRUBoundsItsCost(t *testing.T) {
	const max, cost = 16 * 100, 10
	c := newLRU[int, int](max, func(k int) uint8 { return uint8(k) })
	for i := range 1000 {
		c.add(i, i, cost)
		if v, ok := c.get(i); !ok || v != i {
			t.Fatalf("%d is not there", i)
		}
		c.get(0) // always recently used
	}
	var total, items int64
	for i := range c.shards {
		total += c.shards[i].cost
		items += int64(len(c.shards[i].items))
	}
	if total > max || items*cost != total {
		t.Errorf("%d items of cost %d, at most %d", items, total, max)
	}
	if _, ok := c.get(0); !ok {
		t.Error("the value in use is gone")
	}
	if _, ok := c.get(1); ok {
		t.Error("the value not in use is there")
	}
	c.add(5000, 1, 50)
	if _, ok := c.get(5000); ok {
		t.Error("a value larger than its share is kept")
	}
}
