package s3

import (
	"context"
	"net"
	"net/http"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// httpClient is one whose connections fail when nothing moves on them for a time.
// No time is set to a whole transfer, however slow it is.
func httpClient(stall time.Duration) *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		dial := t.DialContext
		t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return moving{c, stall}, nil
		}
		t.MaxIdleConnsPerHost = 64
	})
}

// moving is a connection that fails when it has not moved for a time. A byte in
// one direction counts for both: a server answers only when it has all.
type moving struct {
	net.Conn
	stall time.Duration
}

func (c moving) Read(p []byte) (int, error) { return c.touched(c.Conn.Read, p) }

func (c moving) Write(p []byte) (int, error) { return c.touched(c.Conn.Write, p) }

func (c moving) touched(move func([]byte) (int, error), p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	return move(p)
}
