// Command caller calls a server with a client that oapi-codegen generated into package quarry. Each line of standard
// input is a call, and is answered by a line of standard output: see ../../driver_test.go.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"

	"example.org/caller/quarry"
)

type call struct {
	Operation  string
	Credential map[string]string
	Path       []struct{ Value json.RawMessage } // in the order of the path
	Parameters map[string]json.RawMessage        // of the query
	Headers    map[string]json.RawMessage        // parameters that are headers
	Body       json.RawMessage
	Bytes      []byte // a body that is not JSON
}

type answer struct {
	Status int    `json:"status,omitempty"`
	Value  any    `json:"value,omitempty"` // what the client made of a JSON body
	Text   string `json:"text,omitempty"`  // the body as text
	Error  string `json:"error,omitempty"`
}

func main() {
	client, err := quarry.NewClientWithResponses(os.Args[1])
	if err != nil {
		panic(err)
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for in.More() {
		var c call
		if err := in.Decode(&c); err != nil {
			panic(err)
		}
		a, err := c.send(client)
		if err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			panic(err)
		}
	}
}

// send calls the method of the operation. Its arguments are the context, the parameters of the path, a struct of
// the other parameters if there are any, the body if there is one, after its type if it is not JSON, and editors of
// the request.
func (c *call) send(client *quarry.ClientWithResponses) (answer, error) {
	suffix := "WithResponse"
	if c.Bytes != nil {
		suffix = "WithBodyWithResponse"
	}
	method := reflect.ValueOf(client).MethodByName(strings.ToUpper(c.Operation[:1]) + c.Operation[1:] + suffix)
	if !method.IsValid() {
		return answer{}, fmt.Errorf("the client has no operation %s", c.Operation)
	}
	args := []reflect.Value{reflect.ValueOf(context.Background())}
	for i := 1; i < method.Type().NumIn()-1; i++ {
		kind := method.Type().In(i)
		given := c.Body
		switch {
		case i <= len(c.Path):
			given = c.Path[i-1].Value
		case kind.Kind() == reflect.Interface:
			args = append(args, reflect.ValueOf(bytes.NewReader(c.Bytes)))
			continue
		case c.Bytes != nil && kind.Kind() == reflect.String:
			args = append(args, reflect.ValueOf("application/octet-stream"))
			continue
		case kind.Kind() == reflect.Pointer: // the struct of the other parameters
			members := make(map[string]json.RawMessage)
			maps.Copy(members, c.Parameters)
			maps.Copy(members, c.Headers)
			given, _ = json.Marshal(members) // of JSON
			kind = kind.Elem()
		}
		value := reflect.New(kind)
		decoder := json.NewDecoder(bytes.NewReader(given))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(value.Interface()); err != nil {
			return answer{}, fmt.Errorf("argument %d of %s: %w", i, c.Operation, err)
		}
		if method.Type().In(i).Kind() != reflect.Pointer {
			value = value.Elem()
		}
		args = append(args, value)
	}
	args = append(args, reflect.ValueOf(quarry.RequestEditorFn(func(_ context.Context, r *http.Request) error {
		for name, value := range c.Credential {
			r.Header.Set(name, value)
		}
		return nil
	})))
	results := method.Call(args)
	if err, _ := results[1].Interface().(error); err != nil {
		return answer{}, err
	}
	return read(results[0].Elem()), nil
}

// read takes the status and the typed body out of a response of the client, which has a member for each documented
// status and type of a body.
func read(response reflect.Value) answer {
	a := answer{Status: response.FieldByName("HTTPResponse").Interface().(*http.Response).StatusCode, Text: string(response.FieldByName("Body").Bytes())}
	for i := range response.NumField() {
		name, field := response.Type().Field(i).Name, response.Field(i)
		if field.Kind() != reflect.Pointer || field.IsNil() || name == "HTTPResponse" || strings.HasPrefix(name, "Headers") {
			continue
		}
		if strings.HasSuffix(name, strconv.Itoa(a.Status)) || strings.HasPrefix(name, "Application") {
			a.Value = field.Interface()
		}
	}
	return a
}
