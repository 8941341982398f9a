// Package embed answers: what does this text mean, as a vector, and who can say so at this moment?
//
// An Embedder turns texts into unit vectors of one Space. A Provider decides which embedder runs: a
// local Ollama server where one answers and has a model, else the one built into the program, else
// none. It decides in its own Run, in the background, and goes on deciding, so that a server that
// comes up later is used without a restart and one that goes away costs no caller more than one
// look at Current.
//
// Two rules keep vectors honest. Every vector belongs to a space, named by its Fingerprint, and
// vectors of two fingerprints are never compared, also when their dimensions agree. And no answer of
// a model is believed: Check looks at the number of vectors, their dimension, that every number is
// finite and that there is a length to speak of, and brings them to length 1.
//
// What the Ollama server itself does and how it misbehaves is the subpackage ollama's business.
package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Kind says which side of a search a text stands on: some models are trained with a different prefix
// for each.
type Kind uint8

const (
	Document Kind = 0 // a stored text
	Query    Kind = 1 // a question put to the stored texts
)

func (k Kind) String() string {
	if k == Query {
		return "query"
	}
	return "document"
}

// Space describes where vectors live: only vectors of one space may be compared.
type Space struct {
	Provider   string `json:"provider"`         // "builtin" or "ollama"
	Model      string `json:"model"`            // as the provider calls it
	Digest     string `json:"digest,omitempty"` // of the model's weights and settings, where the provider knows it
	Dimensions int    `json:"dimensions"`
	// Recipe is everything else that decides the numbers: the prefixes and the version and size of the
	// chunking.
	Recipe string `json:"recipe,omitempty"`
}

// Fingerprint names the space: printable ASCII without spaces, under 100 bytes, the same in every run
// and on every machine. Where there is a digest, the model's name stays out of it, so that another
// name for the same weights (model:latest, model:v1.5) is the same space.
func (s Space) Fingerprint() string {
	name := s.Model
	if s.Digest != "" {
		name = ""
	}
	sum := sha256.Sum256([]byte(strings.Join(
		[]string{s.Provider, name, s.Digest, strconv.Itoa(s.Dimensions), s.Recipe}, "\x00")))
	return asciiName(s.Provider) + "-" + strconv.Itoa(s.Dimensions) + "-" + hex.EncodeToString(sum[:12])
}

// asciiName keeps a provider's name readable inside a fingerprint.
func asciiName(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		if (r >= 'a' && r <= 'z' || r >= '0' && r <= '9') && b.Len() < 24 {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Embedder makes vectors of one space. It is safe for concurrent use.
type Embedder interface {
	// Space is the same for the life of the embedder.
	Space() Space
	// Embed returns one vector of length 1 per text, in the texts' order; the caller owns them. All or
	// nothing: after an error there are no vectors. A blank text is ErrBlank. A text longer than the
	// model reads is no error (its parts' vectors are averaged), but the caller does better with Chunks.
	Embed(ctx context.Context, kind Kind, texts []string) ([][]float32, error)
	// Chunks is what of a stored text to embed: pieces within the model's context length, in the text's
	// order, with giant words cut. A blank text has none.
	Chunks(text string) []string
}

// State is how an embedding provider is doing.
type State string

const (
	Ready   State = "ready"   // the embedder of the provider's choice answers
	Loading State = "loading" // it is being looked for or loaded
	Away    State = "away"    // it does not answer; a fallback may
	Off     State = "off"     // the configuration wants none
)

// Provider decides which embedder runs.
type Provider interface {
	// Run decides, and decides again, until ctx ends; then it returns nil. The owner calls it once.
	Run(ctx context.Context) error
	// Current is the embedder to use now, nil where there is none, and why. It never waits. An embedder
	// that comes with a state other than Ready is a fallback. The reason is one line for people, ""
	// where all is as wanted.
	Current() (Embedder, State, string)
	// Changed is closed at the next change of Current. Take it before calling Current, so that no
	// change falls between the two.
	Changed() <-chan struct{}
}

// Reopener is a Provider that can still use a space other than its current one: what a store filled
// with an earlier model needs until its vectors have been made again.
type Reopener interface {
	// Reopen is an embedder of exactly that space, nil where the model, its digest or the recipe is
	// not to be had any more. It never waits.
	Reopen(Space) Embedder
}

// Standby is a Provider with a fallback that is always there. Its space is worth keeping filled.
type Standby interface {
	Standby() Embedder // nil where there is none
}

// Expecting is a Provider that knows whether a model is missed while there is none: one was named, or has
// served before. Who never had one need not be told that there is none.
type Expecting interface {
	Expected() bool
}

// Serving are the embedders that can embed a question for the given spaces of a store now, in the spaces'
// order: the ones to ask while a new space is being filled and an earlier one still serves. Lists found
// with different embedders are fused by rank, never by score.
func Serving(p Provider, spaces []Space) []Embedder {
	current, _, _ := p.Current()
	var out []Embedder
	for _, s := range spaces {
		want := s.Fingerprint()
		if current != nil && current.Space().Fingerprint() == want {
			out = append(out, current)
		} else if r, ok := p.(Reopener); ok {
			if e := r.Reopen(s); e != nil {
				out = append(out, e)
			}
		}
	}
	return out
}

// ErrBlank says that a text without a single printing character was to be embedded. Models answer such
// a text with a vector that means nothing.
var ErrBlank = errors.New("embed: a blank text has no vector; leave it out")

// ErrSwapped says that the model was replaced by another under the same name: its vectors belong to
// another space. The provider finds the new space by itself.
var ErrSwapped = errors.New("embed: the model was replaced under the same name; its new space is being opened")

// Check verifies the answer of a model to n texts and brings every vector to length 1, in place.
// dimensions 0 accepts the first vector's.
func Check(vectors [][]float32, n, dimensions int) error {
	if len(vectors) != n {
		return fmt.Errorf("%d vectors came back for %d texts", len(vectors), n)
	}
	for i, v := range vectors {
		if dimensions == 0 {
			dimensions = len(v)
		}
		if len(v) == 0 || len(v) != dimensions {
			return fmt.Errorf("vector %d has %d dimensions, not %d", i, len(v), dimensions)
		}
		if err := normalize(v); err != nil {
			return fmt.Errorf("vector %d %w", i, err)
		}
	}
	return nil
}

// tooShort is a length under which a vector's direction is rounding noise. Models answer with length 1
// or, unnormalised, a few to a few hundred; float32 keeps 7 digits, so anything near 1e-6 has none left.
const tooShort = 1e-6

func normalize(v []float32) error {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return errors.New("holds a number that is not finite")
	}
	length := math.Sqrt(sum)
	if length < tooShort {
		return errors.New("has no length")
	}
	if math.Abs(length-1) < 1e-6 {
		return nil // already of length 1: keep the model's own bits
	}
	for i, x := range v {
		v[i] = float32(float64(x) / length)
	}
	return nil
}
