package web

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"carrel.dev/server/mcpwire"
)

// Limits bound what one principal takes up. A zero field means the default, a
// negative one that there is no bound.
type Limits struct {
	Rate     float64 // requests a second, over a while; default 500
	Burst    int     // requests at once; default 1,000
	InFlight int     // requests that are being answered; default 256
	Streams  int     // streams that are open; default 4,096
}

// The defaults of Limits.
const (
	defaultRate     = 500
	defaultBurst    = 1000
	defaultInFlight = 256
	defaultStreams  = 4096
)

// forgotten is how long a principal must have asked for nothing to be forgotten.
const forgotten = 10 * time.Minute

// limiter holds principals to their limits.
type limiter struct {
	limits  Limits
	metrics *Metrics
	now     func() time.Time

	mu    sync.Mutex // guards what follows
	of    map[string]*share
	swept time.Time
}

// share is what one principal takes up.
type share struct {
	rate *rate.Limiter
	open [2]int // requests that are being answered, and streams
	used time.Time
}

func newLimiter(l Limits, m *Metrics, now func() time.Time) *limiter {
	l.Rate = cmp.Or(l.Rate, defaultRate)
	l.Burst = cmp.Or(l.Burst, defaultBurst)
	l.InFlight = cmp.Or(l.InFlight, defaultInFlight)
	l.Streams = cmp.Or(l.Streams, defaultStreams)
	return &limiter{limits: l, metrics: m, now: now, of: map[string]*share{}}
}

// wrap lets requests through that are within the limits of who makes them.
func (l *limiter) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leave, why, wait := l.enter(mcpwire.ClientID(r), mcpwire.IsStream(r))
		if leave == nil {
			l.metrics.limited(why)
			w.Header().Set("Connection", "close") // nobody reads the body
			w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
			say(w, http.StatusTooManyRequests, "there are too many requests of this client ("+why+"): try again after the seconds of Retry-After")
			return
		}
		defer leave()
		next.ServeHTTP(w, r)
	})
}

// enter takes a place for a request, which leave gives back; nil says why there is
// none, and for how long about.
func (l *limiter) enter(client string, stream bool) (leave func(), why string, wait time.Duration) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	s := l.of[client]
	if s == nil {
		s = &share{rate: rate.NewLimiter(rate.Inf, 0)}
		if l.limits.Rate > 0 {
			s.rate = rate.NewLimiter(rate.Limit(l.limits.Rate), max(l.limits.Burst, 1))
		}
		l.of[client] = s
	}
	s.used = now
	kind, most, why := 0, l.limits.InFlight, "at a time"
	if stream {
		kind, most, why = 1, l.limits.Streams, "that are streams"
	}
	if most > 0 && s.open[kind] >= most {
		return nil, why, time.Second
	}
	if !s.rate.AllowN(now, 1) {
		return nil, "a second", time.Duration(float64(time.Second) / l.limits.Rate)
	}
	s.open[kind]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		s.open[kind]--
	}, "", 0
}

// sweep forgets principals that ask for nothing any more. The caller holds mu.
func (l *limiter) sweep(now time.Time) {
	if now.Sub(l.swept) < forgotten/4 {
		return
	}
	l.swept = now
	for id, s := range l.of {
		if s.open == [2]int{} && now.Sub(s.used) > forgotten {
			delete(l.of, id)
		}
	}
}
