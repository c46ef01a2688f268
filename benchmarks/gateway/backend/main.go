// A destination that is never the bottleneck: it reads a request and answers as vLLM would, with usage.
//
// It prints the port that it listens on. How a request is answered depends on its Accept header:
//
//	application/json (or none)  a completion of 0.5 KB
//	text/event-stream           16 events, written one by one
//	text/event-stream; hold=N   one event each 0.25 s for N seconds
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	usage  = `"usage":{"prompt_tokens":1200,"completion_tokens":16,"total_tokens":1216,"prompt_tokens_details":{"cached_tokens":1100}}`
	head   = `{"id":"cmpl-0123456789abcdef","object":"text_completion","created":1790000000,"model":"llama",`
	choice = `"choices":[{"index":0,"text":" of the","logprobs":null,"finish_reason":null}]}`
	events = 16
	pause  = 250 * time.Millisecond
)

var (
	text   = strings.Repeat(" and so on", 16)
	answer = []byte(head + `"choices":[{"index":0,"text":"` + text + `","logprobs":null,"finish_reason":"stop"}],` + usage + `}`)
	event  = []byte("data: " + head + choice + "\n\n")
	last   = []byte("data: " + head + `"choices":[],` + usage + "}\n\ndata: [DONE]\n\n")
	models = []byte(`{"object":"list","data":[{"id":"llama","object":"model","owned_by":"vllm","max_model_len":131072}]}`)
)

func serve(writer http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, request.Body)
	accept := request.Header.Get("Accept")
	switch {
	case request.Method == http.MethodGet:
		send(writer, models)
	case strings.HasPrefix(accept, "text/event-stream"):
		stream(writer, held(accept))
	default:
		send(writer, answer)
	}
}

func send(writer http.ResponseWriter, body []byte) {
	writer.Header().Set("Content-Type", "application/json")
	writer.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = writer.Write(body)
}

func stream(writer http.ResponseWriter, seconds time.Duration) {
	writer.Header().Set("Content-Type", "text/event-stream")
	flusher := writer.(http.Flusher)
	flusher.Flush()
	count, wait := events, time.Duration(0)
	if seconds > 0 {
		count, wait = int(seconds/pause), pause
	}
	for range count {
		if _, err := writer.Write(event); err != nil {
			return
		}
		flusher.Flush()
		time.Sleep(wait)
	}
	_, _ = writer.Write(last)
}

func held(accept string) time.Duration {
	_, value, _ := strings.Cut(accept, "hold=")
	seconds, _ := strconv.Atoi(value)
	return time.Duration(seconds) * time.Second
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("cacheroute benchmark backend 1")
		return
	}
	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	fmt.Fprintln(os.Stderr, http.Serve(listener, http.HandlerFunc(serve)))
	os.Exit(1)
}
