// Package textedit replaces text in the content of a file, literally or not at
// all, and explains to somebody who cannot see the file why it did not.
//
// The text to replace matches byte for byte, except that CRLF and LF are one
// line ending and that a byte order mark at the start of the file is not part of
// its first line. The bytes around a match stay as they are, whatever their
// encoding. In the new text, lines that it shares with the old text keep the
// endings that they have in the file; others take the ending that most lines of
// the file have.
//
// Columns in messages count bytes from 1, without a byte order mark, as readers
// of the file do; lines are those of the file as the edits before left it.
//
// # Decisions
//
// Nothing is applied by likeness. An edit whose old text is off by a space or a
// quotation mark was made from a wrong idea of the file, and a replacement that
// guesses is found much later. What the guess would have used, a search by what
// characters look like and then by likeness of lines, goes into the error: where
// the nearest text is and what is different about it, so that the next attempt
// succeeds.
//
// A carriage return alone is a character, not a line ending: such files are rare
// and an edit that reads one line where another tool reads many would surprise.
// A byte order mark at the start of a file always stays, since most tools that
// send or leave it out do so without meaning anything by it.
package textedit
