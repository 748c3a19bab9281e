package hostile

import "testing"

// TestHostileClients holds one server against all of them, one kind after another.
//
// Cases: D6 E11
func TestHostileClients(t *testing.T) {
	t.Parallel()
	s := open(t, nil, "--tokens", "--url", "http://carrel.example", "--origin", "https://good.example", "--log-format", "json")
	last := s.token("--allow", everything)
	t.Run("kinds", func(t *testing.T) {
		for name, kind := range map[string]func(*testing.T, *site){
			"tokens": tokens, "foreign": foreign, "cancels": cancels, "ended": ended, "origins": origins, "smuggling": smuggling,
			"methods": methods, "urls": urls, "bodies": bodies, "sizes": sizes, "slow": slow, "many": many, "files": files,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				kind(t, s.of(t))
			})
		}
	})
	s.finish(last)
}
