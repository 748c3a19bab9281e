// Package protocol has the protocol's own conformance suites judge Carrel: its HTTP
// chain with the tools, resources and prompts that the suites want, and carrel serve
// as it is. What is known to fail stands in baseline.txt with the reason, and
// README.md says how to run it.
package protocol
