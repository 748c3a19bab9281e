// Package web is Carrel on HTTP: what stands before [mcpwire.Front] when others
// than the programs of this machine reach it, and what those who run it look at.
//
// A request goes through, in this order: the log and the figures; Host and Origin;
// the bearer, which makes it a principal's ([auth.Guard]); what a principal may take
// up at a time; and then the front, which serves the project of the principal.
//
// # Decisions
//
// Without authorization only this machine is served, by a Host that nobody else
// decides on, so that a page in a browser cannot reach it by a name of its own. With
// it, a page gets nothing without a token; still only pages of allowed origins may
// send one, and only they are told so in the way in which browsers ask.
//
// A limit is a principal's, never an address's: many agents come from one, and one
// from many. Who is over it is told when to come back, by 429 and Retry-After.
//
// Whoever may admin a project sees the figures, which name no workspace and no
// principal: labels that a client can make up would fill the memory of whoever
// collects them.
package web
