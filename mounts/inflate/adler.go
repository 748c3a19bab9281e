package inflate

import "encoding/binary"

const adlerModulus = 65521

// Eight bytes are summed at once, the even and the odd ones in four lanes of 16
// bits each. A lane holds the sum of w bytes, for w words, and another the sum of
// these sums after each of them: 255·w·(w+1)/2 must be below 1<<16.
const (
	adlerChunk = 8 * 22
	adlerRun   = 4096 * adlerChunk // after so many bytes, 64 bits are far from full
	evenBytes  = 0x00ff00ff00ff00ff
)

// adler32 is the checksum of RFC 1950.
func adler32(b []byte) uint32 {
	sum, sums := uint64(1), uint64(0)
	for len(b) > 0 {
		run := b[:min(len(b), adlerRun)]
		b = b[len(run):]
		for len(run) >= 16 {
			n := min(len(run), adlerChunk) &^ 15
			sum, sums = adlerAdd(sum, sums, run[:n])
			run = run[n:]
		}
		for _, c := range run {
			sum += uint64(c)
			sums += sum
		}
		sum %= adlerModulus
		sums %= adlerModulus
	}
	return uint32(sums<<16 | sum)
}

// adlerAdd adds pairs of words, one chunk at most, to the sum of all bytes and to
// the sum of all such sums.
func adlerAdd(sum, sums uint64, b []byte) (uint64, uint64) {
	sums += uint64(len(b)) * sum
	var even, odd, evens, odds uint64
	for len(b) >= 16 {
		two := (*[16]byte)(b)
		b = b[16:]
		w := binary.LittleEndian.Uint64(two[:8])
		even += w & evenBytes
		odd += w >> 8 & evenBytes
		evens += even
		odds += odd
		w = binary.LittleEndian.Uint64(two[8:])
		even += w & evenBytes
		odd += w >> 8 & evenBytes
		evens += even
		odds += odd
	}
	// Each byte counts as often as there are bytes from it to the end: eight times
	// for each word from its own on, less its place in its word.
	sums += 8 * (lanes(evens) + lanes(odds))
	sums -= 2*weighted(even) + 2*weighted(odd) + lanes(odd)
	return sum + lanes(even) + lanes(odd), sums
}

// lanes is the sum of the four lanes of w.
func lanes(w uint64) uint64 {
	w = w&0x0000ffff0000ffff + w>>16&0x0000ffff0000ffff
	return w&0xffffffff + w>>32
}

// weighted is the sum of the four lanes of w, each times its number from 0.
func weighted(w uint64) uint64 {
	return w>>16&0xffff + 2*(w>>32&0xffff) + 3*(w>>48)
}
