// Package disk is what the durable packages need from a local file system:
// locks between processes, names that survive a power cut, one classification
// of what the system reports, and the refusal of network file systems.
//
// A file becomes durable in this order: write it under a temporary name, fsync
// it, give it its name, fsync the directory. Locks are flocks. They belong to an
// open file, not to a process, so that two handles in one process exclude each
// other like two processes do, and the kernel drops them when a process dies.
package disk
