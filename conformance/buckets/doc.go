// Package buckets holds the bucket store against a real S3 server, a process of
// its own, with a line between that cuts, delays, refuses and truncates, and with
// processes on both sides that are killed. What was acknowledged must be there.
package buckets
