package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

func writeRows() []row {
	return []row{{"write-64", "Durable writes of 64 clients at once", prepareWrites}}
}

const (
	byWrite  = "Carrel: writeFile"
	byAppend = "append and fdatasync to 64 files"

	clients = 64
)

func prepareWrites(s *stage) {
	s.about = "1 KiB each, one after the other; all clients together, each in a workspace of its own. The floor is the same for files of their own."
	s.throughput = true
	n := sized(3, 200)
	s.addWriters(n)
	s.addAppenders(n)
	s.hold(byWrite, byAppend, throughputOf(0.25))
	s.finish = func() {
		s.fact("p99 of a write", float64(s.contestants[0].scores().all.P99)/1e6, "ms", 50)
	}
}

// addWriters has the clients of Carrel make n writes each.
func (s *stage) addWriters(n int) {
	c := newCarrel(s, usual().make(s).dir)
	var spaces [clients]*workspace.Workspace
	for i := range spaces {
		spaces[i] = c.workspace(s, fmt.Sprint("writer-", i))
	}
	path := func(i int) string { return fmt.Sprintf("/workspace/file-%d", i%100) }
	s.add(byWrite, func(t *turn) error {
		err := t.crowd(clients, n, func(client, i int) error {
			_, err := tools.WriteFile(t, spaces[client], tools.WriteFileIn{Path: path(i), Content: string(kibibyte(t, client, i))})
			return err
		})
		for client, w := range spaces {
			if err != nil {
				break
			}
			var out tools.ReadFileOut
			out, err = tools.ReadFile(t, w, tools.ReadFileIn{Path: path(n - 1)})
			t.saw(fmt.Sprint("client ", client), []byte(out.Render().Text))
		}
		return err
	})
}

// addAppenders has the system do the same.
func (s *stage) addAppenders(n int) {
	dir := dirOf(s)
	var files [clients]*os.File
	for i := range files {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { f.Close() })
		files[i] = f
	}
	s.add(byAppend, func(t *turn) error {
		err := t.crowd(clients, n, func(client, i int) error {
			if _, err := files[client].Write(kibibyte(t, client, i)); err != nil {
				return err
			}
			return syncData(files[client])
		})
		last := make([]byte, 1<<10)
		for client, f := range files {
			if err != nil {
				break
			}
			_, err = f.ReadAt(last, int64((t.round+1)*n-1)<<10)
			t.saw(fmt.Sprint("client ", client), last)
		}
		return err
	})
}

// kibibyte is what a client writes.
func kibibyte(t *turn, client, i int) []byte {
	line := fmt.Appendf(nil, "round %d, client %d, write %d\n", t.round, client, i)
	return append(line, bytes.Repeat([]byte("x"), 1<<10-len(line))...)
}
