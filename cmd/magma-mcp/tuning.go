package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/query"
)

// tuned is the query path's table with the values of [query.tuning] in place of the measured ones. A
// name is that of a field of query.Tuning in small letters with underscores (max_nodes), or
// weight_INTENT_GRAPH (weight_why_causal). The error lists the names there are.
func tuned(values map[string]float64) (query.Tuning, error) {
	t := query.Default()
	v := reflect.ValueOf(&t).Elem()
	set := map[string]reflect.Value{}
	for i := range v.NumField() {
		switch v.Field(i).Kind() {
		case reflect.Float32, reflect.Int, reflect.Bool:
			set[snake(v.Type().Field(i).Name)] = v.Field(i)
		}
	}
	for intent := range t.Weights {
		for _, g := range []graph.Graph{graph.Temporal, graph.Semantic, graph.Causal, graph.Entity} {
			set[fmt.Sprintf("weight_%s_%s", query.Intent(intent), g)] = v.FieldByName("Weights").Index(intent).Index(int(g))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		field, ok := set[name]
		if !ok {
			return t, fmt.Errorf("query.tuning.%s: no such value; there are %s", name, strings.Join(slices.Sorted(maps.Keys(set)), ", "))
		}
		value := values[name]
		switch field.Kind() {
		case reflect.Float32:
			field.SetFloat(value)
		case reflect.Int:
			if value < 0 || value != float64(int(value)) {
				return t, fmt.Errorf("query.tuning.%s: %v came; a whole number is allowed", name, value)
			}
			field.SetInt(int64(value))
		case reflect.Bool:
			field.SetBool(value != 0)
		}
	}
	return t, nil
}

// snake is a Go name in small letters with underscores: MaxNodes is max_nodes, K1 is k1.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
