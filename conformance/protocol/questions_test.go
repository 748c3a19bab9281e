package protocol

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// addQuestions adds the tools, and the prompt, that ask the client something: by a
// result that requires input since 2026-07-28, and before by requests, which mcp-go
// makes of it.
func (f fixture) addQuestions() {
	name := form("What is your name?", fields{"name": of("string")})
	greet, confirm := sample("Greet the user"), mcp.InputRequests{"confirm": form("Please confirm", fields{"ok": of("boolean")})}
	for tool, rounds := range map[string][]mcp.InputRequests{
		"test_sampling":                             {{"answer": sample("Test prompt for sampling")}},
		"test_elicitation":                          {{"answer": form("Please answer", fields{"username": of("string"), "email": of("string")})}},
		"test_elicitation_sep1034_defaults":         {{"answer": form("Please answer", defaults)}},
		"test_elicitation_sep1330_enums":            {{"answer": form("Please choose", choices)}},
		"test_streaming_elicitation":                {{"user_name": name}},
		"test_input_required_result_elicitation":    {{"user_name": name}},
		"test_input_required_result_sampling":       {{"capital_question": sample("What is the capital of France?")}},
		"test_input_required_result_list_roots":     {{"client_roots": mcp.NewRootsInputRequest()}},
		"test_input_required_result_request_state":  {confirm},
		"test_input_required_result_tampered_state": {confirm},
		"test_input_required_result_capabilities":   {{"user_name": name, "greeting": greet}},
		"test_input_required_result_multiple_inputs": {
			{"user_name": name, "greeting": greet, "client_roots": mcp.NewRootsInputRequest()},
		},
		"test_input_required_result_multi_round": {
			{"step1": form("Step 1: What is your name?", fields{"name": of("string")})},
			{"step2": form("Step 2: What is your favorite color?", fields{"color": of("string")})},
		},
	} {
		f.add(tool, func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			more, err := ask(ctx, rounds, r.Params.MultiRoundTripParams)
			if err != nil || more == nil {
				return mcp.NewToolResultText("state-ok: " + fmt.Sprint(len(r.Params.InputResponses), " answers")), err
			}
			return &mcp.CallToolResult{Result: required, MultiRoundTripResult: *more}, nil
		})
	}
	rounds := []mcp.InputRequests{{"user_context": form("What context should the prompt use?", fields{"context": of("string")})}}
	f.AddPrompt(mcp.NewPrompt("test_input_required_result_prompt", mcp.WithPromptDescription("a prompt that asks")),
		func(ctx context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			more, err := ask(ctx, rounds, r.Params.MultiRoundTripParams)
			if err != nil || more == nil {
				return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent("answered")}}}, err
			}
			return &mcp.GetPromptResult{Result: required, MultiRoundTripResult: *more}, nil
		})
}

var required = mcp.Result{ResultType: mcp.ResultTypeInputRequired}

// ask returns what is to be asked after what the client has answered, or nil if that
// was all. The state is the number of the round, with what tells that it was given.
func ask(ctx context.Context, rounds []mcp.InputRequests, got mcp.MultiRoundTripParams) (*mcp.MultiRoundTripResult, error) {
	round, err := roundOf(got.RequestState)
	if err != nil {
		return nil, err
	}
	if answered(rounds[round], got.InputResponses) {
		round++
	}
	if round == len(rounds) {
		return nil, nil
	}
	return &mcp.MultiRoundTripResult{InputRequests: taken(ctx, rounds[round]), RequestState: stateOf(round)}, nil
}

// answered reports whether there is an answer to each request.
func answered(asked mcp.InputRequests, got mcp.InputResponses) bool {
	for id, r := range asked {
		response, ok := got[id]
		if !ok || response.DecodeFor(r.Method) != nil {
			return false
		}
	}
	return true
}

// taken are the requests that the client says it takes. One of a revision before
// 2026-07-28 is sent all, and refuses what it does not.
func taken(ctx context.Context, asked mcp.InputRequests) mcp.InputRequests {
	info := mcpserver.RequestProtocolInfoFromContext(ctx)
	if info == nil || info.ClientCapabilities == nil {
		return asked
	}
	can := map[mcp.MCPMethod]bool{
		mcp.MethodElicitationCreate:     info.ClientCapabilities.Elicitation != nil,
		mcp.MethodSamplingCreateMessage: info.ClientCapabilities.Sampling != nil,
		mcp.MethodListRoots:             info.ClientCapabilities.Roots != nil,
	}
	asked = maps.Clone(asked)
	maps.DeleteFunc(asked, func(_ string, r mcp.InputRequest) bool { return !can[r.Method] })
	return asked
}

func stateOf(round int) string {
	sum := hmac.New(sha256.New, []byte("fixture"))
	fmt.Fprint(sum, round)
	return fmt.Sprintf("%d.%s", round, hex.EncodeToString(sum.Sum(nil)))
}

// roundOf returns the round of a state; the first has none.
func roundOf(state string) (int, error) {
	if state == "" {
		return 0, nil
	}
	number, _, _ := strings.Cut(state, ".")
	round, err := strconv.Atoi(number)
	if err != nil || stateOf(round) != state {
		return 0, errors.New("the state is none that was given")
	}
	return round, nil
}

// fields are those of a form, by name.
type fields map[string]any

func form(text string, f fields) mcp.InputRequest {
	return mcp.NewElicitationInputRequest(mcp.ElicitationParams{
		Message: text, RequestedSchema: map[string]any{"type": "object", "properties": map[string]any(f)},
	})
}

func sample(text string) mcp.InputRequest {
	return mcp.NewSamplingInputRequest(mcp.CreateMessageParams{
		MaxTokens: 100, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent(text)}},
	})
}

// of is the schema of a type, with further members by name and value.
func of(kind string, more ...any) fields {
	f := fields{"type": kind}
	for i := 0; i < len(more); i += 2 {
		f[more[i].(string)] = more[i+1]
	}
	return f
}

// defaults has a default of every type, and choices every way to offer some.
var (
	defaults = fields{
		"name":     of("string", "default", "John Doe"),
		"age":      of("integer", "default", 30),
		"score":    of("number", "default", 95.5),
		"status":   of("string", "enum", []string{"active", "inactive", "pending"}, "default", "active"),
		"verified": of("boolean", "default", true),
	}
	titled  = []fields{{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}, {"const": "value3", "title": "Third"}}
	choices = fields{
		"untitledSingle": of("string", "enum", []string{"option1", "option2", "option3"}),
		"titledSingle":   of("string", "oneOf", titled),
		"legacyEnum":     of("string", "enum", []string{"opt1", "opt2", "opt3"}, "enumNames", []string{"One", "Two", "Three"}),
		"untitledMulti":  of("array", "items", of("string", "enum", []string{"option1", "option2", "option3"})),
		"titledMulti":    of("array", "items", fields{"anyOf": titled}),
	}
)
