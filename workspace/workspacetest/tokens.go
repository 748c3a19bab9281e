package workspacetest

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

// TokensTarget is an implementation of workspace.Tokens under judgement, empty.
type TokensTarget struct {
	Tokens workspace.Tokens
	// Again returns another handle on the same data, as another process has it.
	// It is nil if there is no such thing.
	Again func(t *testing.T) workspace.Tokens
}

// TestTokens holds an implementation against the contract of workspace.Tokens.
// open is called once for each test and cleans up with t.Cleanup.
func TestTokens(t *testing.T, open func(t *testing.T) TokensTarget) {
	tests := []struct {
		name string
		run  func(*testing.T, TokensTarget)
	}{
		{"RoundTrip", testTokenRoundTrip},
		{"CallersMemory", testTokenCallersMemory},
		{"Exist", testTokenExist},
		{"NotExist", testTokenNotExist},
		{"Order", testTokenOrder},
		{"ProjectsApart", testTokenProjectsApart},
		{"Revoke", testTokenRevoke},
		{"Canceled", testTokenCanceled},
		{"Concurrent", testTokenConcurrent},
		{"OtherHandle", testTokenOtherHandle},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// tokenTime is a time with nanoseconds.
var tokenTime = time.Date(2026, 11, 29, 12, 30, 15, 123456789, time.UTC)

// token makes a token of a project with something in every field.
func token(project, id string) workspace.Token {
	return workspace.Token{
		ID: id, Hash: sha256.Sum256([]byte(project + id)), Project: project, Name: "for " + id,
		Grants: workspace.Grants{
			Verbs: []workspace.Verb{workspace.VerbRead, workspace.VerbWrite}, Workspaces: []string{"/agents/**"},
			Repos: []workspace.RepoGrant{{Pattern: "/repos/**", Policy: workspace.NoAccess}, {Pattern: "/repos/{a,ü}", Policy: workspace.ReadOnly}},
		},
		Created: tokenTime, Expires: tokenTime.Add(time.Hour),
	}
}

func mustAddToken(t *testing.T, s workspace.Tokens, tokens ...workspace.Token) {
	t.Helper()
	for _, tok := range tokens {
		if err := s.AddToken(t.Context(), tok); err != nil {
			t.Fatalf("add %s: %v", tok.ID, err)
		}
	}
}

// checkToken looks a token up by its hash.
func checkToken(t *testing.T, s workspace.Tokens, want workspace.Token) {
	t.Helper()
	got, err := s.TokenByHash(t.Context(), want.Hash)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("token %s: error %v (-want +got):\n%s", want.ID, err, diff)
	}
}

// checkTokens lists the tokens of a project.
func checkTokens(t *testing.T, s workspace.Tokens, project string, want ...workspace.Token) {
	t.Helper()
	got, err := s.Tokens(t.Context(), project)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("tokens of %s: error %v (-want +got):\n%s", project, err, diff)
	}
}

func testTokenRoundTrip(t *testing.T, c TokensTarget) {
	full := token("p", "full")
	revoked := token("p", "revoked")
	revoked.Revoked = tokenTime.Add(time.Minute)
	bare := workspace.Token{ID: "bare", Hash: [32]byte{1}, Project: "p", Grants: workspace.Grants{Verbs: []workspace.Verb{workspace.VerbAdmin}}}
	old := token("p", "old")
	old.Created, old.Expires = time.Date(1960, 1, 1, 0, 0, 0, 1, time.UTC), time.Unix(0, 0).UTC()
	mustAddToken(t, c.Tokens, full, revoked, bare, old)
	for _, want := range []workspace.Token{full, revoked, bare, old} {
		checkToken(t, c.Tokens, want)
	}
	checkTokens(t, c.Tokens, "p", full, revoked, bare, old)

	local := token("p", "local")
	local.Created = time.Now().In(time.FixedZone("elsewhere", 3600))
	mustAddToken(t, c.Tokens, local)
	local.Created = time.Unix(0, local.Created.UnixNano()).UTC()
	checkToken(t, c.Tokens, local)
}

func testTokenCallersMemory(t *testing.T, c TokensTarget) {
	tok := token("p", "a")
	mustAddToken(t, c.Tokens, tok)
	tok.Grants.Verbs[0] = workspace.VerbAdmin
	tok.Grants.Repos[0].Policy = workspace.CommitToMain
	got, err := c.Tokens.TokenByHash(t.Context(), tok.Hash)
	if err != nil {
		t.Fatal(err)
	}
	got.Grants.Workspaces[0] = "/**"
	checkToken(t, c.Tokens, token("p", "a"))
}

func testTokenExist(t *testing.T, c TokensTarget) {
	first := token("p", "a")
	mustAddToken(t, c.Tokens, first)
	sameID, sameHash := token("p", "a"), token("p", "b")
	sameID.Hash[0]++
	sameHash.Hash = first.Hash
	elsewhere := token("q", "a")
	for name, tok := range map[string]workspace.Token{"id": sameID, "hash": sameHash, "both": first, "id in another project": elsewhere} {
		if err := c.Tokens.AddToken(t.Context(), tok); workspace.KindOf(err) != workspace.Exist {
			t.Errorf("the same %s: got %v", name, err)
		}
	}
	checkTokens(t, c.Tokens, "p", first)
	checkTokens(t, c.Tokens, "q")
}

func testTokenNotExist(t *testing.T, c TokensTarget) {
	mustAddToken(t, c.Tokens, token("p", "a"))
	near := token("p", "a").Hash
	near[31] ^= 1
	for _, hash := range [][32]byte{{}, near} {
		got, err := c.Tokens.TokenByHash(t.Context(), hash)
		checkKind(t, err, workspace.NotExist)
		if diff := cmp.Diff(workspace.Token{}, got); diff != "" {
			t.Errorf("a token that is not there:\n%s", diff)
		}
	}
	checkKind(t, c.Tokens.RevokeToken(t.Context(), "p", "b", tokenTime), workspace.NotExist)
	checkTokens(t, c.Tokens, "nobody")
}

// testTokenOrder lists in the order of addition, whatever ids and times say.
func testTokenOrder(t *testing.T, c TokensTarget) {
	var want []workspace.Token
	for i, id := range []string{"c", "a", "b"} {
		tok := token("p", id)
		tok.Created = tokenTime.Add(-time.Duration(i) * time.Hour)
		want = append(want, tok)
		mustAddToken(t, c.Tokens, tok, token("q", "other "+id))
	}
	if err := c.Tokens.RevokeToken(t.Context(), "p", "c", tokenTime); err != nil {
		t.Fatal(err)
	}
	want[0].Revoked = tokenTime
	checkTokens(t, c.Tokens, "p", want...)
}

func testTokenProjectsApart(t *testing.T, c TokensTarget) {
	ours, theirs := token("p", "ours"), token("q", "theirs")
	mustAddToken(t, c.Tokens, ours, theirs)
	checkTokens(t, c.Tokens, "p", ours)
	checkTokens(t, c.Tokens, "q", theirs)
	checkKind(t, c.Tokens.RevokeToken(t.Context(), "p", "theirs", tokenTime), workspace.NotExist)
	checkToken(t, c.Tokens, theirs)
}

func testTokenRevoke(t *testing.T, c TokensTarget) {
	tok, other := token("p", "a"), token("p", "b")
	mustAddToken(t, c.Tokens, tok, other)
	for i := range 2 { // the second time changes nothing
		if err := c.Tokens.RevokeToken(t.Context(), "p", "a", tokenTime.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
		tok.Revoked = tokenTime
		checkToken(t, c.Tokens, tok)
	}
	checkToken(t, c.Tokens, other)
	if err := c.Tokens.AddToken(t.Context(), tok); workspace.KindOf(err) != workspace.Exist {
		t.Errorf("add what was revoked: got %v", err)
	}
}

func testTokenCanceled(t *testing.T, c TokensTarget) {
	tok := token("p", "a")
	checkKind(t, c.Tokens.AddToken(canceled(t), tok), workspace.Canceled)
	mustAddToken(t, c.Tokens, tok)
	checkKind(t, c.Tokens.RevokeToken(canceled(t), "p", "a", tokenTime), workspace.Canceled)
	_, err := c.Tokens.TokenByHash(canceled(t), tok.Hash)
	checkKind(t, err, workspace.Canceled)
	_, err = c.Tokens.Tokens(canceled(t), "p")
	checkKind(t, err, workspace.Canceled)
	checkTokens(t, c.Tokens, "p", tok)
}

// testTokenConcurrent adds each token from several sides at once: one gets it.
func testTokenConcurrent(t *testing.T, c TokensTarget) {
	const tokens, sides = 20, 4
	handles := []workspace.Tokens{c.Tokens}
	if c.Again != nil {
		handles = append(handles, c.Again(t))
	}
	var wg sync.WaitGroup
	added := make(chan string, tokens*sides)
	for side := range sides {
		wg.Go(func() {
			s := handles[side%len(handles)]
			for i := range tokens {
				tok := token("p", fmt.Sprint(i))
				switch err := s.AddToken(t.Context(), tok); workspace.KindOf(err) {
				case "":
					added <- tok.ID
				case workspace.Exist:
				default:
					t.Errorf("add %s: %v", tok.ID, err)
				}
				if err := s.RevokeToken(t.Context(), "p", tok.ID, tokenTime.Add(time.Duration(side)*time.Second)); err != nil {
					t.Errorf("revoke %s: %v", tok.ID, err)
				}
			}
		})
	}
	wg.Wait()
	close(added)
	once := map[string]int{}
	for id := range added {
		once[id]++
	}
	all, err := c.Tokens.Tokens(t.Context(), "p")
	if err != nil || len(all) != tokens || len(once) != tokens {
		t.Fatalf("got %d tokens of which %d were added, error %v, want %d", len(all), len(once), err, tokens)
	}
	for _, tok := range all {
		if once[tok.ID] != 1 || tok.Revoked.IsZero() {
			t.Errorf("%s was added %d times, revoked %v", tok.ID, once[tok.ID], tok.Revoked)
		}
	}
}

// testTokenOtherHandle sees through one handle at once what another has done.
func testTokenOtherHandle(t *testing.T, c TokensTarget) {
	if c.Again == nil {
		t.Skip("there is no other handle")
	}
	other := c.Again(t)
	for i := range 20 {
		tok := token("p", fmt.Sprint(i))
		mustAddToken(t, c.Tokens, tok)
		checkToken(t, other, tok)
		if err := other.RevokeToken(t.Context(), "p", tok.ID, tokenTime); err != nil {
			t.Fatal(err)
		}
		tok.Revoked = tokenTime
		checkToken(t, c.Tokens, tok)
	}
}
