// Package s3 keeps larger contents in a bucket, by git blob id: on Amazon S3 or
// a server that speaks its protocol.
//
// A content with the id abcdef… is the object PREFIX/abcdef…, and the object
// holds the bytes whose SHA-1 is the id, as a file of package dir does: the header
// "blob SIZE" and a NUL, then the content. So `sha1sum` checks an object by its
// name alone, and one that was cut is seen from its header. The time of
// modification is when a content was last put. One data directory has a prefix to
// itself: whoever collects garbage under a prefix knows all that refer to it.
//
// The object's metadata has carrel-sums, "1;CHUNK;SUMS": 1 is the version of this
// format, CHUNK a number of bytes, and SUMS in base64 the CRC-32C (Castagnoli) of
// each CHUNK bytes of the content in order, 4 bytes each, big endian. It may be
// lost, as when objects are copied by a tool that drops metadata; then a content
// is read once more.
//
// # Decision: a content is checked chunk by chunk
//
// No byte is handed out before the chunk of 4 MiB that it is in matches its sum,
// and whoever reads a content from its start to its end gets the last chunk only
// when the whole matches the id; so a content of one chunk is held against its id
// before anybody sees a byte. To hold every content against its id when it is
// opened, as package dir does, would transfer all of it for a range, and twice for
// a reader of the whole. The sums find what decays, and what a network alters;
// whoever can write to the bucket can alter both.
//
// # Decision: a content that is there is stored again
//
// A Put uploads in any case. To look whether the content is there and sound, it
// would have to be read, which transfers as much, and its time of modification
// would still have to be renewed by a copy. An upload does all of this, and mends.
//
// # Decision: multipart uploads are ours
//
// The SDK's transfermanager has no stable version, buffers each part in memory,
// and leaves parts behind when its process dies. Here the parts are sections of
// what is read anyway, and what was abandoned is found by its age.
package s3
