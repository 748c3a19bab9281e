package buckets

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// line is a proxy on the way to the server, with faults.
type line struct {
	addr   string
	target string
	// rate is how many of 100 requests suffer a fault.
	rate   atomic.Int64
	faults [faultKinds]atomic.Int64 // that happened

	mu  sync.Mutex // guards rng
	rng *rand.Rand
}

// The faults of a line.
const (
	refused      = iota // 503, before the server sees the request
	answerLost          // the server has done it, and the connection is cut
	cutBefore           // the connection is cut at once
	cutRequest          // the request's body is cut, on both sides
	cutAnswer           // the answer's body is cut
	delayed             // it comes late
	answeredBusy        // the server has done it, and 503 is said
	faultKinds
)

func newLine(t *testing.T, target string, rng *rand.Rand) *line {
	t.Helper()
	l := &line{target: target, rng: rng}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	l.addr = strings.TrimPrefix(server.URL, "http://")
	return l
}

// total is how many faults there were.
func (l *line) total() (n int64) {
	for i := range l.faults {
		n += l.faults[i].Load()
	}
	return n
}

// next is the fault of the next request, -1 for none, and a number below a
// thousand for where it strikes.
func (l *line) next() (fault, where int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rng.Int64N(100) >= l.rate.Load() {
		return -1, 0
	}
	fault = l.rng.IntN(faultKinds)
	l.faults[fault].Add(1)
	return fault, l.rng.IntN(1000)
}

func (l *line) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fault, where := l.next()
	body := io.Reader(r.Body)
	switch fault {
	case refused:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case cutBefore:
		panic(http.ErrAbortHandler)
	case delayed:
		time.Sleep(time.Duration(where) * 200 * time.Microsecond)
	case cutRequest:
		body = io.MultiReader(io.LimitReader(r.Body, r.ContentLength*int64(where)/1000), broken{})
	}
	out, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+l.target+r.URL.RequestURI(), body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out.Header, out.Host, out.ContentLength = r.Header.Clone(), r.Host, r.ContentLength
	if r.ContentLength == 0 {
		out.Body = http.NoBody
	}
	answer, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	switch fault {
	case answerLost:
		panic(http.ErrAbortHandler)
	case answeredBusy:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	if fault == cutAnswer && answer.ContentLength > 0 {
		io.CopyN(w, answer.Body, answer.ContentLength*int64(where)/1000)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	io.Copy(w, answer.Body)
}

// broken is a body that cannot be read.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
