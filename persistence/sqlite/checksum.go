package sqlite

import (
	"encoding/binary"
	"hash/crc32"

	"carrel.dev/workspace"
)

// checksum guards a stored record against damage: the CRC-32C of its fields in
// the order and form that persistence/README.md gives.
func checksum(rec workspace.Record) uint32 {
	buf := make([]byte, 0, 512)
	text := func(fields ...string) {
		for _, f := range fields {
			buf = binary.AppendUvarint(buf, uint64(len(f)))
			buf = append(buf, f...)
		}
	}
	text(rec.Stream.Project, rec.Stream.Name, rec.ID, rec.Type, rec.Actor, rec.Session, rec.Client, rec.Key, rec.Request)
	buf = binary.BigEndian.AppendUint64(buf, uint64(rec.Seq))
	buf = binary.BigEndian.AppendUint64(buf, uint64(rec.Version))
	if rec.At.IsZero() {
		buf = append(buf, 0)
	} else {
		buf = binary.BigEndian.AppendUint64(append(buf, 1), uint64(rec.At.UnixNano()))
	}
	buf = append(buf, rec.PayloadBody[:]...)
	for _, id := range rec.Bodies {
		buf = append(buf, id[:]...)
	}
	buf = binary.AppendUvarint(buf, uint64(len(rec.Result)))
	return castagnoli(buf, rec.Result, rec.Payload)
}

// castagnoli is the CRC-32C of its arguments, one after the other.
func castagnoli(parts ...[]byte) (sum uint32) {
	table := crc32.MakeTable(crc32.Castagnoli)
	for _, p := range parts {
		sum = crc32.Update(sum, table, p)
	}
	return sum
}
