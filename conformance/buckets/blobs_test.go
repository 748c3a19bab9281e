package buckets

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel.dev/persistence/s3"
	"carrel.dev/workspace"
	"carrel.dev/workspace/workspacetest"
)

// TestSuite is the suite of all blob stores. Contents are damaged in the files in
// which the server keeps them.
func TestSuite(t *testing.T) {
	g := newGateway(t)
	var prefixes atomic.Int64
	workspacetest.TestBlobs(t, func(t *testing.T) workspacetest.BlobsTarget {
		prefix := fmt.Sprintf("suite/%d", prefixes.Add(1))
		return workspacetest.BlobsTarget{Blobs: open(t, g.addr, prefix), Damage: func(t *testing.T, id workspace.OID, change func([]byte) []byte) {
			t.Helper()
			g.damage(t, filepath.Join(prefix, id.String()), change)
		}}
	})
}

// damage changes what is after the header of a file.
func (g *gateway) damage(t *testing.T, key string, change func([]byte) []byte) {
	t.Helper()
	name := filepath.Join(g.dir, "root", "bodies", key)
	stored, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, content, _ := bytes.Cut(stored, []byte{0})
	if content = change(content); content == nil {
		err = os.Remove(name)
	} else {
		err = os.WriteFile(name, append(append(bytes.Clone(head), 0), content...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// made is a content that no other number has.
func made(n uint64, size int) []byte {
	data := make([]byte, size)
	seed := [32]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(size), byte(size >> 8), byte(size >> 16), byte(size >> 24)}
	rand.NewChaCha8(seed).Read(data)
	return data
}

// body is a content that was acknowledged.
type body struct {
	id   workspace.OID
	n    uint64
	size int
}

// check reads a content back, whole or a range of it. It reports whether it could
// be read; whatever is read has to be right.
func (b body) check(t *testing.T, store workspace.Blobs, from int) bool {
	t.Helper()
	want := made(b.n, b.size)[from:]
	r, err := store.Open(t.Context(), b.id)
	var got []byte
	if err == nil {
		defer r.Close()
		if _, err = r.Seek(int64(from), io.SeekStart); err == nil {
			got, err = io.ReadAll(r)
		}
	}
	if !bytes.HasPrefix(want, got) || err == nil && len(got) != len(want) {
		t.Errorf("%s: got %d bytes from %d, which are not those that were put", b.id, len(got), from)
	}
	if err != nil && workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("%s: got %v, want one of kind unavailable at most", b.id, err)
	}
	if err != nil {
		checkNoSecret(t, err.Error()+workspace.HintOf(err))
	}
	return err == nil
}

// crowd puts and reads contents from several sides at once.
type crowd struct {
	mu     sync.Mutex // guards all below
	bodies []body
	failed int // calls that were unavailable
}

// work does a number of calls, each a put and a read of what somebody put.
func (c *crowd) work(t *testing.T, store *s3.Blobs, rng *rand.Rand, calls int) {
	for range calls {
		b := body{n: rng.Uint64(), size: rng.IntN(2 << 20)}
		if rng.IntN(8) == 0 {
			b.size = 16<<20 + rng.IntN(24<<20)
		}
		id, err := store.Put(t.Context(), bytes.NewReader(made(b.n, b.size)), int64(b.size))
		b.id = id
		c.mu.Lock()
		if err == nil {
			c.bodies = append(c.bodies, b)
		} else {
			c.failed++
		}
		if err != nil && workspace.KindOf(err) != workspace.Unavailable {
			t.Errorf("put: got %v, want one of kind unavailable at most", err)
		}
		if err != nil {
			checkNoSecret(t, err.Error()+workspace.HintOf(err))
		}
		if len(c.bodies) == 0 {
			c.mu.Unlock()
			continue
		}
		b = c.bodies[rng.IntN(len(c.bodies))]
		c.mu.Unlock()
		if !b.check(t, store, rng.IntN(b.size+1)) {
			c.mu.Lock()
			c.failed++
			c.mu.Unlock()
		}
	}
}

const sides = 4

// run has all sides work.
func (c *crowd) run(t *testing.T, store *s3.Blobs, rng *rand.Rand, calls int) {
	var wg sync.WaitGroup
	for range sides {
		own := rand.New(rand.NewPCG(rng.Uint64(), 0))
		wg.Go(func() { c.work(t, store, own, calls/sides) })
	}
	wg.Wait()
}

// intact checks all that was acknowledged.
func (c *crowd) intact(t *testing.T, store workspace.Blobs) {
	t.Helper()
	for _, b := range c.bodies {
		if has, err := store.Has(t.Context(), b.id); !has || err != nil {
			t.Errorf("%s was acknowledged: has %v, %v", b.id, has, err)
		}
		if !b.check(t, store, 0) {
			t.Errorf("%s of %d bytes was acknowledged and cannot be read", b.id, b.size)
		}
	}
}

// TestFaults puts and reads over a bad line.
func TestFaults(t *testing.T) {
	g := newGateway(t)
	rng := chance(t)
	l := newLine(t, g.addr, rng)
	l.rate.Store(20)
	var c crowd
	c.run(t, open(t, l.addr, "faults"), rng, size(80, 1000))
	c.intact(t, open(t, g.addr, "faults"))
	t.Logf("%d contents, %d faults, %d calls failed as unavailable", len(c.bodies), l.total(), c.failed)
	for kind := range l.faults {
		if l.faults[kind].Load() == 0 {
			t.Errorf("the fault %d never happened", kind)
		}
	}
}

// TestGatewayKilled kills the server while contents are put and read.
func TestGatewayKilled(t *testing.T) {
	g := newGateway(t)
	rng := chance(t)
	store := open(t, g.addr, "killed")
	var c crowd
	own := rand.New(rand.NewPCG(rng.Uint64(), 0))
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(t, store, own, size(60, 800))
	}()
	kills := 0
	for alive := true; alive; {
		select {
		case <-done:
			alive = false
		case <-time.After(time.Duration(200+rng.IntN(800)) * time.Millisecond):
			g.kill()
			g.start()
			kills++
		}
	}
	c.intact(t, store)
	t.Logf("%d contents, %d kills, %d calls failed as unavailable", len(c.bodies), kills, c.failed)
	if kills == 0 || len(c.bodies) == 0 {
		t.Error("nothing was killed, or nothing stored")
	}
}
