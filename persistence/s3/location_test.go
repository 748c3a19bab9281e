package s3

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

func TestParseLocation(t *testing.T) {
	for text, want := range map[string]Location{
		"s3://bodies":                    {Bucket: "bodies", From: DefaultFrom},
		"s3://bodies/":                   {Bucket: "bodies", From: DefaultFrom},
		"s3://bodies/a/b/?region=eu-1":   {Bucket: "bodies", Prefix: "a/b", Region: "eu-1", From: DefaultFrom},
		"s3://bodies?from=3":             {Bucket: "bodies", From: 3},
		"s3://bodies?path-style=true":    {Bucket: "bodies", PathStyle: true, From: DefaultFrom},
		"s3://b-1.x?endpoint=http://h:1": {Bucket: "b-1.x", Endpoint: "http://h:1", PathStyle: true, From: DefaultFrom},
		"s3://bodies?endpoint=https%3A%2F%2Fh%2F&path-style=false": {Bucket: "bodies", Endpoint: "https://h", From: DefaultFrom},
	} {
		got, err := ParseLocation(text)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", text, err, d)
		}
		again, err := ParseLocation(got.String())
		if err != nil || again.String() != got.String() {
			t.Errorf("%s: %s is read as %s, %v", text, got, again, err)
		}
	}
	for _, text := range []string{
		"", "bodies", "https://bodies", "s3:bodies", "s3://", "s3:///x", "s3://B", "s3://bodies#x", "s3://bodies/../x", "s3://bodies/a//b", "s3://bodies/%01",
		"s3://bodies?x=1", "s3://bodies?from=0", "s3://bodies?from=1k", "s3://bodies?from=1&from=2", "s3://bodies?region=%20", "s3://bodies?path-style=1",
		"s3://bodies?endpoint=h:1", "s3://bodies?endpoint=http://", "s3://bodies?endpoint=http://h?" + secret, "s3://bodies?endpoint=ftp://h",
		"s3://key:" + secret + "@bodies", "s3://bodies?endpoint=http://key:" + secret + "@h", "s3://bodies?" + secret + "=1", "s3://bodies?%zz" + secret,
		"s3://key:" + secret + "@bodies:x",
	} {
		_, err := ParseLocation(text)
		if workspace.KindOf(err) != workspace.Invalid || workspace.HintOf(err) == "" || strings.Contains(err.Error()+workspace.HintOf(err), secret) {
			t.Errorf("%s: got %v, want one of kind invalid with a hint and without a secret", text, err)
		}
	}
}
