package object

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"carrel.dev/workspace"
)

// loosePath is where a repository keeps the object in a file of its own.
func loosePath(dir string, id workspace.OID) string {
	hex := id.String()
	return filepath.Join(dir, hex[:2], hex[2:])
}

// readFull fills buf as far as r goes. An error after the first byte is left for
// whoever reads on.
func readFull(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
	}
	return n, err
}

// readLoose returns a loose object, not verified.
func readLoose(pool *Pool, name string) (Type, []byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, nil, err
	}
	if info.Size() > pool.maxObject+1<<16 { // compressed: never much larger than the object
		return 0, nil, tooLarge(uint64(info.Size()))
	}
	file, err := os.ReadFile(name)
	if err != nil {
		return 0, nil, err
	}
	var start [64]byte
	t, size, head, err := looseHeader(start[:pool.inflateStart(start[:], file)])
	if err == nil {
		err = pool.checkSize(size, len(file))
	}
	if err != nil {
		return 0, nil, err
	}
	content, err := pool.inflate(file, size+uint64(head))
	if err != nil {
		return 0, nil, err
	}
	return t, content[head:], nil
}

// statLoose returns the type and size of a loose object from its header alone.
func statLoose(pool *Pool, name string) (Type, uint64, error) {
	file, err := os.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer file.Close()
	var raw [4096]byte // more than the tables and the header need
	n, err := readFull(file, raw[:])
	if err != nil && err != io.EOF {
		return 0, 0, err
	}
	var start [64]byte
	t, size, _, err := looseHeader(start[:pool.inflateStart(start[:], raw[:n])])
	return t, size, err
}

// looseHeader decodes "type size\0" and says how long that was.
func looseHeader(b []byte) (t Type, size uint64, n int, err error) {
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return 0, 0, 0, errDeflate
	}
	name, digits, _ := bytes.Cut(b[:end], []byte(" "))
	t, ok := parseType(string(name))
	size, err = strconv.ParseUint(string(digits), 10, 63)
	if !ok || err != nil {
		return 0, 0, 0, errDeflate
	}
	return t, size, end + 1, nil
}
