package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

func Example() {
	c, err := client.New("https://code.example", client.Options{APIKey: "…"})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	answer, err := c.Search(ctx, wire.SearchRequest{Query: "boil lang:go", Matches: 100})
	if e, ok := errors.AsType[*client.Error](err); ok && e.ErrorCode == wire.ErrorErrorCodeFAILEDTOPARSEQUERY {
		log.Fatalf("at column %d: %s", e.Query.Column, e.Query.Advice)
	} else if err != nil {
		log.Fatal(err)
	}
	for _, f := range answer.Files {
		fmt.Println(f.Repository, f.FileName.Text)
	}
}

func ExampleClient_ListRepositoriesAll() {
	c, err := client.New("https://code.example", client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for r, err := range c.ListRepositoriesAll(context.Background(), client.ListRepositoriesParams{Sort: "pushed"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.RepoName)
	}
}

func ExampleClient_StreamSearch() {
	c, err := client.New("https://code.example", client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for frame, err := range c.StreamSearch(context.Background(), wire.SearchRequest{Query: "boil", Matches: 1000}) {
		if err != nil {
			log.Fatal(err)
		}
		for _, f := range frame.Files {
			fmt.Println(f.Repository, f.FileName.Text)
		}
	}
}
