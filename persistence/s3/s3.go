package s3

import (
	"context"
	"path"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"carrel.dev/workspace"
)

// Config says where contents are and how patient a store is; the zero value of
// all but the location's bucket is the default.
type Config struct {
	Location
	// Spool is the directory for the file in which a content is kept that is read
	// from elsewhere than memory; default the system's. The file has no name.
	Spool string
	// Attempts is how often a request is made before it has failed; default 6.
	// Between them are pauses of random length that double, up to MaxBackoff;
	// default 5 s. In an outage the SDK's quota of retries ends them sooner.
	Attempts   int
	MaxBackoff time.Duration
	// Stall is how long a connection may not move a byte; default 60 s.
	Stall time.Duration
	// Hold is how long Has and Discard may take, which a database waits for with
	// its lock held; default 10 s.
	Hold time.Duration
}

func (c Config) withDefaults() Config {
	if c.Attempts == 0 {
		c.Attempts = 6
	}
	if c.MaxBackoff == 0 {
		c.MaxBackoff = 5 * time.Second
	}
	if c.Stall == 0 {
		c.Stall = time.Minute
	}
	if c.Hold == 0 {
		c.Hold = 10 * time.Second
	}
	return c
}

// Blobs is a bucket's part that keeps contents. All methods are safe for
// concurrent use, in one process and between processes.
type Blobs struct {
	cfg     Config
	client  *sdk.Client
	backoff *retry.ExponentialJitterBackoff
	part    int64 // partSize, but for tests
}

var (
	_ workspace.Blobs     = (*Blobs)(nil)
	_ workspace.Inventory = (*Blobs)(nil)
)

// retryQuota is the size of the SDK's quota of retries, of which each takes 14 that
// a success gives back. The SDK's own, 500, is gone after a second of an outage in
// which many workspaces write; with this, some 700 retries in a row have to fail
// before requests are made once only.
const retryQuota = 10_000

// defaultRegion signs requests to a server that has no regions.
const defaultRegion = "us-east-1"

// New makes a store, with credentials from the SDK's default chain: the
// environment, the shared files of the AWS tools, the machine's role. It asks the
// server nothing. A region that neither the location nor the environment has is
// Invalid, unless there is an endpoint.
func New(ctx context.Context, cfg *Config) (*Blobs, error) {
	b := &Blobs{cfg: cfg.withDefaults(), part: partSize}
	b.backoff = retry.NewExponentialJitterBackoff(b.cfg.MaxBackoff)
	shared, err := awsconfig.LoadDefaultConfig(ctx,
		awsconfig.WithHTTPClient(httpClient(b.cfg.Stall)),
		awsconfig.WithLogger(logging.Nop{}),
		awsconfig.WithRetryer(func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.MaxAttempts, o.Backoff, o.RateLimiter = b.cfg.Attempts, b.backoff, ratelimit.NewTokenRateLimit(retryQuota)
			})
		}),
	)
	if err != nil {
		return nil, workspace.Errorf(workspace.Invalid, "the environment's configuration of AWS cannot be read").
			Hinted("Look at the variables AWS_… and the files config and credentials in ~/.aws.")
	}
	if b.cfg.Region != "" {
		shared.Region = b.cfg.Region
	}
	if shared.Region == "" {
		if b.cfg.Endpoint == "" && shared.BaseEndpoint == nil {
			return nil, workspace.Errorf(workspace.Invalid, "the region of the bucket is not known").
				Hinted("Add region=REGION to the location of the blob store, or set AWS_REGION.")
		}
		shared.Region = defaultRegion
	}
	shared.Credentials = credentials{shared.Credentials}
	b.client = sdk.NewFromConfig(shared, func(o *sdk.Options) {
		if b.cfg.Endpoint != "" {
			o.BaseEndpoint = &b.cfg.Endpoint
		}
		o.UsePathStyle = b.cfg.PathStyle
		// Contents are held against sums of our own, ranges too.
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
	return b, nil
}

// Check reports whether the bucket is there and may be looked into.
func (b *Blobs) Check(ctx context.Context) error {
	one := int32(1)
	_, err := b.client.ListObjectsV2(ctx, &sdk.ListObjectsV2Input{Bucket: &b.cfg.Bucket, Prefix: aws.String(b.folder()), MaxKeys: &one})
	return fault(ctx, "look into the blob store", err)
}

// folder is what every key begins with, key that of a content.
func (b *Blobs) folder() string {
	if b.cfg.Prefix == "" {
		return ""
	}
	return b.cfg.Prefix + "/"
}

func (b *Blobs) key(id workspace.OID) *string {
	return aws.String(path.Join(b.cfg.Prefix, id.String()))
}

// credentials tells a failure to find credentials from others.
type credentials struct{ aws.CredentialsProvider }

func (c credentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	found, err := c.CredentialsProvider.Retrieve(ctx)
	if err != nil && ctx.Err() == nil {
		err = noCredentials{}
	}
	return found, err
}

// noCredentials replaces an error that may name files and addresses.
type noCredentials struct{}

func (noCredentials) Error() string { return "there are no credentials" }

// Below is the store whose keys have a folder more in front.
func (b *Blobs) Below(folder string) *Blobs {
	below := *b
	below.cfg.Prefix = path.Join(b.cfg.Prefix, folder)
	return &below
}
