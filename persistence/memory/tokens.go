package memory

import (
	"context"
	"slices"
	"time"

	"carrel.dev/persistence/internal/events"
	"carrel.dev/workspace"
)

// AddToken implements workspace.Tokens.
func (s *Store) AddToken(ctx context.Context, t workspace.Token) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := alive(ctx); err != nil {
		return err
	}
	if slices.ContainsFunc(s.tokens, func(o workspace.Token) bool { return o.ID == t.ID || o.Hash == t.Hash }) {
		return workspace.Errorf(workspace.Exist, "there is a token %q already", t.ID)
	}
	s.tokens = append(s.tokens, ownToken(t))
	return nil
}

// TokenByHash looks at every token.
func (s *Store) TokenByHash(ctx context.Context, hash [32]byte) (workspace.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := alive(ctx); err != nil {
		return workspace.Token{}, err
	}
	i := slices.IndexFunc(s.tokens, func(t workspace.Token) bool { return t.Hash == hash })
	if i < 0 {
		return workspace.Token{}, workspace.Errorf(workspace.NotExist, "there is no such token")
	}
	return ownToken(s.tokens[i]), nil
}

// Tokens implements workspace.Tokens.
func (s *Store) Tokens(ctx context.Context, project string) ([]workspace.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var of []workspace.Token
	for _, t := range s.tokens {
		if t.Project == project {
			of = append(of, ownToken(t))
		}
	}
	return of, alive(ctx)
}

// RevokeToken implements workspace.Tokens.
func (s *Store) RevokeToken(ctx context.Context, project, id string, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := alive(ctx); err != nil {
		return err
	}
	i := slices.IndexFunc(s.tokens, func(t workspace.Token) bool { return t.Project == project && t.ID == id })
	if i < 0 {
		return workspace.Errorf(workspace.NotExist, "the project %s has no token %q", project, id)
	}
	if s.tokens[i].Revoked.IsZero() {
		s.tokens[i].Revoked = events.Time(at)
	}
	return nil
}

// ownToken is a token as it comes back from a store, which shares no memory with
// the argument.
func ownToken(t workspace.Token) workspace.Token {
	t.Created, t.Expires, t.Revoked = events.Time(t.Created), events.Time(t.Expires), events.Time(t.Revoked)
	t.Grants.Verbs = append([]workspace.Verb(nil), t.Grants.Verbs...)
	t.Grants.Workspaces = append([]string(nil), t.Grants.Workspaces...)
	t.Grants.Repos = append([]workspace.RepoGrant(nil), t.Grants.Repos...)
	return t
}
