// Package gateway pins the S3 server that the tests of conformance/buckets start.
// It is a module of its own, so that nothing else depends on what the server does.
package gateway
