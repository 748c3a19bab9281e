package sqlite

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"carrel.dev/workspace"
)

// eventColumns are what scan reads of "event e JOIN stream s".
const eventColumns = `e.pos, s.project, s.name, e.seq, e.id, e.type, e.version, e.at, e.actor, e.session, e.client,
	e.key, e.request, e.result, e.payload, e.body, e.bodies, e.sum`

// row is the part of an event's row that is not stored as it is.
type row struct {
	at              sql.NullInt64
	result, payload []byte // nil for NULL
	body, bodies    []byte
	sum             int64
}

func rowOf(r workspace.Record) row {
	out := row{result: r.Result, payload: r.Payload}
	if !r.At.IsZero() {
		out.at = sql.NullInt64{Int64: r.At.UnixNano(), Valid: true}
	}
	if !r.PayloadBody.IsZero() {
		out.body = r.PayloadBody[:]
	}
	for _, id := range r.Bodies {
		out.bodies = append(out.bodies, id[:]...)
	}
	out.sum = sum(r, out)
	return out
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is the checksum of a row: of its fields in order, each after its length.
func sum(r workspace.Record, o row) int64 {
	h := crc32.New(castagnoli)
	var n [8]byte
	number := func(v int64) {
		binary.BigEndian.PutUint64(n[:], uint64(v))
		h.Write(n[:])
	}
	number(int64(r.Seq))
	number(int64(r.Version))
	number(o.at.Int64)
	for _, s := range [...]string{r.Stream.Project, r.Stream.Name, r.ID, r.Type, r.Actor, r.Session, r.Client, r.Key, r.Request} {
		number(int64(len(s)))
		h.Write([]byte(s))
	}
	for _, b := range [...][]byte{o.result, o.payload, o.body, o.bodies} {
		number(int64(len(b)))
		h.Write(b)
	}
	return int64(h.Sum32())
}

// placed is a record with its position among those of all streams.
type placed struct {
	workspace.Record
	pos workspace.Position
}

// scan reads eventColumns. No row is NotExist, a damaged one Corrupt.
func scan(from interface{ Scan(...any) error }) (placed, error) {
	var p placed
	var o row
	err := from.Scan(&p.pos, &p.Stream.Project, &p.Stream.Name, &p.Seq, &p.ID, &p.Type, &p.Version, &o.at, &p.Actor, &p.Session, &p.Client,
		&p.Key, &p.Request, &o.result, &o.payload, &o.body, &o.bodies, &o.sum)
	if errors.Is(err, sql.ErrNoRows) {
		return p, workspace.NotExist
	}
	if err != nil {
		return p, fault("read an event", err)
	}
	if sum(p.Record, o) != o.sum || len(o.body)%20 != 0 || len(o.bodies)%20 != 0 {
		return p, workspace.Errorf(workspace.Corrupt, "record %d of the stream is damaged", p.Seq).At(p.Stream.Name).
			Hinted("Restore the data directory from a backup.")
	}
	if o.at.Valid {
		p.At = time.Unix(0, o.at.Int64).UTC()
	}
	if len(o.result) > 0 {
		p.Result = o.result
	}
	if len(o.payload) > 0 {
		p.Payload = o.payload
	}
	copy(p.PayloadBody[:], o.body)
	for b := o.bodies; len(b) > 0; b = b[20:] {
		p.Bodies = append(p.Bodies, workspace.OID(b[:20]))
	}
	return p, nil
}
