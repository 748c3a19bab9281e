package s3

import (
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"carrel.dev/workspace"
)

// DefaultFrom is the size from which contents go to a bucket unless a location
// says otherwise, in bytes: below it, the way there costs more than the room here.
const DefaultFrom = 1_500_000

// Location is where in which bucket contents are.
type Location struct {
	Bucket string
	Prefix string // of all keys, without a slash at its ends; may be empty
	// Endpoint is the URL of a server that is not Amazon's, or "".
	Endpoint string
	Region   string // "" for that of the environment
	// PathStyle has the bucket in the path of a URL, not in the name of the host.
	PathStyle bool
	From      int64 // the size of the smallest content that belongs there, in bytes
}

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

const locationHint = "Write it as s3://BUCKET/PREFIX?endpoint=URL&region=REGION&from=BYTES&path-style=BOOL, of which only the bucket is needed. Credentials come from the environment, as the AWS tools have them."

// ParseLocation reads s3://BUCKET/PREFIX with the parameters endpoint, region,
// from and path-style; the default of the last is whether there is an endpoint.
// Anything else is Invalid. The error does not repeat the text, which may have a
// secret in it.
func ParseLocation(text string) (Location, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Fragment != "" || u.Opaque != "" {
		return Location{}, invalid("it is no URL of the scheme s3")
	}
	if u.User != nil {
		return Location{}, invalid("it has credentials in it")
	}
	l := Location{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"), From: DefaultFrom}
	if !bucketName.MatchString(l.Bucket) {
		return Location{}, invalid("its bucket has a name that no bucket has")
	}
	if l.Prefix != "" && (path.Clean(l.Prefix) != l.Prefix || strings.HasPrefix(l.Prefix, "..") || !printable(l.Prefix)) {
		return Location{}, invalid("its prefix is no clean path")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Location{}, invalid("its parameters cannot be read")
	}
	style := ""
	for name, values := range query {
		if len(values) > 1 {
			return Location{}, invalid("a parameter is there twice")
		}
		if err := l.set(name, values[0], &style); err != nil {
			return Location{}, err
		}
	}
	l.PathStyle = l.Endpoint != "" && style != "false" || style == "true"
	return l, nil
}

// set takes one parameter.
func (l *Location) set(name, value string, style *string) (err error) {
	switch name {
	case "endpoint":
		l.Endpoint, err = parseEndpoint(value)
	case "region":
		if l.Region = value; !regexp.MustCompile(`^[a-z0-9-]{1,40}$`).MatchString(value) {
			return invalid("its region has a name that no region has")
		}
	case "from":
		if l.From, err = strconv.ParseInt(value, 10, 64); err != nil || l.From < 1 {
			return invalid("from is no number of bytes")
		}
	case "path-style":
		if *style = value; value != "true" && value != "false" {
			return invalid("path-style is neither true nor false")
		}
	default:
		return invalid("it has a parameter that is not known")
	}
	return err
}

func parseEndpoint(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", invalid("its endpoint is no URL of the scheme http or https")
	}
	if u.User != nil {
		return "", invalid("its endpoint has credentials in it")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

func invalid(why string) error {
	return workspace.Errorf(workspace.Invalid, "the location of the blob store is not understood: %s", why).Hinted(locationHint)
}

// String is the location without what may change while the contents stay where
// they are: a URL with bucket, prefix and endpoint. Two locations are one place
// if their strings are equal.
func (l Location) String() string {
	u := url.URL{Scheme: "s3", Host: l.Bucket, Path: l.Prefix}
	if l.Prefix != "" {
		u.Path = "/" + l.Prefix
	}
	if l.Endpoint != "" {
		u.RawQuery = url.Values{"endpoint": {l.Endpoint}}.Encode()
	}
	return u.String()
}
