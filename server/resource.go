package server

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// Asked says who asks for something that is no tool, and what for. The answer is
// as for a call of a tool: the session's binding and whatever the caller may do
// decide on it.
type Asked struct {
	URI      string // of a resource
	Client   string // name of the client's program, for the records
	Spelling Spelling
}

// Refusal is the error of what is no tool, in words for the client.
type Refusal struct {
	Kind workspace.Kind
	Text string // the sentence, and on the next line what to do
}

func (r *Refusal) Error() string { return r.Text }

// Unwrap gives the kind.
func (r *Refusal) Unwrap() error { return r.Kind }

// refuse puts an error in words; nil stays nil.
func (s *Session) refuse(ctx context.Context, a Asked, err error) error {
	if err == nil {
		return nil
	}
	kind, text := voice{s, a.Spelling}.explain(ctx, "resource", err)
	return &Refusal{kind, text}
}

// open returns the workspace that is acted on where one is named, "" for none.
func (s *Session) open(ctx context.Context, named workspace.ID, client string) (*workspace.Workspace, error) {
	id, err := s.acts(ctx, named)
	if err != nil {
		return nil, err
	}
	return s.desk.cfg.Project.Workspace(ctx, id, s.caller(client))
}

// Read returns what stands at a URI, with its notes at the end of the text. The
// error is a *Refusal, like all those of what is no tool.
func (s *Session) Read(ctx context.Context, a Asked) (tools.Resource, error) {
	r, err := s.read(ctx, a)
	return r, s.refuse(ctx, a, err)
}

func (s *Session) read(ctx context.Context, a Asked) (tools.Resource, error) {
	u, err := tools.ParseURI(a.URI)
	if err != nil {
		return tools.Resource{}, err
	}
	w, err := s.open(ctx, u.Workspace, a.Client)
	if err != nil {
		return tools.Resource{}, err
	}
	r, err := tools.ReadResource(ctx, w, u)
	if err != nil {
		return tools.Resource{}, err
	}
	v := voice{s, a.Spelling}
	for _, n := range r.Notes {
		if n = v.say(n); n != "" {
			r.Text = strings.TrimPrefix(r.Text+"\n"+n, "\n")
		}
	}
	r.Notes = nil
	return r, nil
}

// Offer is a resource that is listed.
type Offer struct {
	URI, Name, Title, Description, MIME string
}

// maxOffers is how many resources a page of their list has.
const maxOffers = 100

// Offers lists what there is to read in the session's workspace without knowing
// any path: the generated documents and the mounts. A session without a workspace
// has nothing to list. The cursor is "" or the next of the page before.
func (s *Session) Offers(ctx context.Context, a Asked, cursor string) (page []Offer, next string, err error) {
	page, next, err = s.offers(ctx, a, cursor)
	return page, next, s.refuse(ctx, a, err)
}

func (s *Session) offers(ctx context.Context, a Asked, cursor string) (page []Offer, next string, err error) {
	after, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || cursor != "" && !strings.HasPrefix(string(after), "/") {
		return nil, "", workspace.Errorf(workspace.Invalid, "the cursor is not one that a list returned").
			Hinted("Pass nextCursor exactly as it was returned, or leave it out to start again.")
	}
	page = []Offer{}
	id := s.binding.now()
	if id == "" {
		return page, "", nil
	}
	w, err := s.desk.cfg.Project.Workspace(ctx, id, s.caller(a.Client))
	switch workspace.KindOf(err) {
	case workspace.NotExist, workspace.Closed:
		return page, "", nil // there will be something once it was created
	}
	if err != nil {
		return nil, "", err
	}
	snap, err := w.Snapshot(ctx)
	if err != nil {
		return nil, "", err
	}
	if cursor == "" {
		page = append(page, generated(id)...)
	}
	for _, m := range snap.Table.Mounts {
		if string(m.Point) <= string(after) {
			continue
		}
		if len(page) == maxOffers {
			return page, base64.RawURLEncoding.EncodeToString([]byte(page[len(page)-1].Name)), nil
		}
		page = append(page, offerOf(id, m))
	}
	return page, "", nil
}

// generated are the documents that are made of a workspace when they are read.
func generated(id workspace.ID) []Offer {
	of := func(p workspace.Path, name, title, description, mime string) Offer {
		return Offer{URI: tools.URI{Path: p, Workspace: id}.String(), Name: name, Title: title, Description: description, MIME: mime}
	}
	return []Offer{
		of(tools.StatusPath, "status", "Uncommitted changes", fmt.Sprintf("What is changed in %s and not committed, by mount, with conflicts.", id), tools.TypeText),
		of(tools.DiffPath, "diff", "Diff of the uncommitted changes", fmt.Sprintf("The uncommitted changes of %s as a unified diff.", id), tools.TypeDiff),
	}
}

func offerOf(id workspace.ID, m *workspace.Mount) Offer {
	return Offer{
		URI: tools.URI{Path: m.Point, Workspace: id}.String(), Name: m.Point.String(), Title: m.Repo.Name(), MIME: tools.TypeDir,
		Description: fmt.Sprintf("The top of %s as %s sees it.", m.Repo, id),
	}
}
