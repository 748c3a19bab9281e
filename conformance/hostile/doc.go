// Package hostile holds the real program, as a server that needs tokens, against
// clients that mean harm: who use what is not theirs, lie about where they come from,
// send what no client should, or too much, or too slowly, and never read.
//
// Each of them is answered, or cut off, with nothing of others lost or told; the
// server goes on, its memory stays bounded, its log has no secret, and fsck finds
// nothing. Times are waited for with patience and never measured.
//
//	go test ./conformance/hostile
package hostile
