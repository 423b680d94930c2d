package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// schemaID is the name of the JSON Schema of the configuration file.
const schemaID = "urn:quarrysearch:quarry:config"

type schema = map[string]any

// makeSchema returns the JSON Schema of the configuration file.
func makeSchema() ([]byte, error) {
	c := Default()
	root := sectionSchema(reflect.ValueOf(c))
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = schemaID
	root["title"] = "Configuration of quarry serve"
	b, err := json.MarshalIndent(root, "", "  ")
	return append(b, '\n'), err
}

func sectionSchema(v reflect.Value) schema {
	properties := schema{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		property := propertyOf(f, v.Field(i))
		property["description"] = f.Tag.Get("doc")
		properties[f.Tag.Get("yaml")] = property
	}
	return schema{"type": "object", "additionalProperties": false, "properties": properties}
}

func propertyOf(f reflect.StructField, v reflect.Value) schema {
	switch kindOf(f.Type) {
	case "section":
		return sectionSchema(v)
	case "sections":
		return schema{"type": "array", "items": sectionSchema(reflect.New(f.Type.Elem()).Elem())}
	case "map":
		return schema{"type": "object", "additionalProperties": schema{"type": "string"}}
	case "list":
		items := schema{"type": "string"}
		if want := allowedValues(f); want != nil {
			items["enum"] = want
		}
		return withDefault(schema{"type": "array", "items": items}, v)
	}
	property := scalarSchema(kindOf(f.Type))
	if want := allowedValues(f); want != nil {
		property["enum"] = want
	}
	return withDefault(property, v)
}

func scalarSchema(kind string) schema {
	switch kind {
	case "boolean":
		return schema{"type": "boolean"}
	case "number":
		return schema{"type": "integer", "minimum": 0}
	case "ratio":
		return schema{"type": []string{"string", "number"}, "pattern": `^(0(\.[0-9]+)?|1(\.0+)?)$`, "minimum": 0, "maximum": 1}
	case "duration":
		return schema{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|^0$`}
	case "size":
		return schema{"type": []string{"string", "integer"}, "pattern": `^[0-9]+ ?(B|KiB|MiB|GiB|TiB)?$`, "minimum": 0}
	}
	return schema{"type": "string"}
}

func withDefault(property schema, v reflect.Value) schema {
	if v.IsZero() {
		return property
	}
	switch v.Interface().(type) {
	case Ratio:
		property["default"] = v.Float()
	case Duration, Bytes:
		property["default"] = formatValue(v)
	default:
		property["default"] = v.Interface()
	}
	return property
}

// makeTables returns the table of settings of docs/configuration.md.
func makeTables() string {
	var b strings.Builder
	b.WriteString("| Key | Default | Meaning |\n| --- | --- | --- |\n")
	for _, f := range Fields() {
		meaning := f.Doc
		if f.Allowed != nil {
			meaning += " One of: " + strings.Join(nonEmpty(f.Allowed), ", ") + "."
		}
		if f.Reloads {
			meaning += " **SIGHUP**."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Path, codeSpan(f.Default), meaning)
	}
	writeSections(&b, "connections", "which are read again at **SIGHUP**, secrets included", reflect.TypeFor[Connection]())
	writeSections(&b, "connections.app", "", reflect.TypeFor[GitHubApp]())
	writeSections(&b, "connections.clone", "", reflect.TypeFor[Clone]())
	writeSections(&b, "connections.discover", "", reflect.TypeFor[Discover]())
	writeSections(&b, "connections.exclude", "", reflect.TypeFor[Exclude]())
	writeSections(&b, "tracing.headers", "", reflect.TypeFor[TracingHeader]())
	writeSections(&b, "scip.packages", "", reflect.TypeFor[ScipPackage]())
	writeSections(&b, "query.contexts", "", reflect.TypeFor[Context]())
	writeSections(&b, "access.oidc", "", reflect.TypeFor[OIDC]())
	return b.String()
}

// writeSections writes the table of a list of sections of type t, or of one section in
// each element.
func writeSections(b *strings.Builder, path, remark string, t reflect.Type) {
	if remark != "" {
		remark = ", " + remark
	}
	fmt.Fprintf(b, "\nFor each of `%s`%s:\n\n| Key | Kind | Meaning |\n| --- | --- | --- |\n", path, remark)
	for i := range t.NumField() {
		f := t.Field(i)
		kinds := ""
		if tag, ok := f.Tag.Lookup("kinds"); ok {
			kinds = " For " + strings.ReplaceAll(tag, ",", ", ") + "."
		}
		fmt.Fprintf(b, "| `%s` | %s | %s%s |\n", f.Tag.Get("yaml"), kindOf(f.Type), f.Tag.Get("doc"), kinds)
	}
}

func codeSpan(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
